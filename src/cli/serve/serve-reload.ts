import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { type FSWatcher, watch } from 'node:fs'
import * as nodeModule from 'node:module'
import { basename, dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Context } from '../command.ts'
import { printServer, type ServedAgents, untilStopped } from './serving.ts'

/** Milliseconds without a further change before the server starts again: editors write files in several steps. */
const settleTime = 150

type ChildMessage =
  | { readonly type: 'file'; readonly url: string }
  | ({ readonly type: 'listening'; readonly port: number } & ServedAgents)

/** Serves in a child process, and replaces it when one of its files changes. A new process loads every file anew. */
export async function serveWithReload(context: Context): Promise<void> {
  const { output, positionals, settings } = context
  const options = settings.text('options')
  const watcher = createWatcher(
    [...positionals, ...(options === undefined ? [] : [options])].map((file) => resolve(file)),
  )
  let port: number | undefined
  let child: ChildProcess | undefined
  let isStopping = false

  function start(): void {
    const started = fork(process.argv[1] ?? '', childArguments(process.argv.slice(2), port), {
      env: { ...process.env, PARLEY_SERVE_CHILD: '1' },
      execArgv: typeStripping(),
      // Ctrl-C reaches all processes of the terminal; the parent stops the child itself.
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    child = started
    started.on('message', (message: ChildMessage) => {
      if (message.type === 'file') return watcher.add(fileURLToPath(message.url))
      if (port === undefined) printServer(context, message)
      // The link that was printed before ended with its process, unless it was used.
      else output.note(message.consoleUrl === undefined ? 'Reloaded.' : `Reloaded. Console: ${message.consoleUrl}`)
      port = message.port
    })
    started.once('exit', (code) => {
      if (child !== started) return
      child = undefined
      if (!isStopping)
        output.note(`The server ended${code ? ` with ${code}` : ''}. It starts again when a file changes.`)
    })
  }

  async function stop(): Promise<void> {
    const running = child
    // Its end is intended from now on.
    child = undefined
    if (!running || running.exitCode !== null || running.signalCode !== null) return
    const ended = once(running, 'exit')
    running.kill('SIGTERM')
    await ended
  }

  let restarting = Promise.resolve()
  watcher.onChange((file) => {
    restarting = restarting.then(async () => {
      output.note(`${basename(file)} has changed.`)
      await stop()
      if (!isStopping) start()
    })
  })
  start()
  await untilStopped(context)
  isStopping = true
  watcher.close()
  await restarting
  await stop()
}

/** The same command for the child, on the port of the first one. */
function childArguments(args: readonly string[], port: number | undefined): string[] {
  return port === undefined
    ? [...args]
    : [...args.filter((arg, index) => !isPort(arg, args[index - 1])), '--port', `${port}`]
}

function isPort(arg: string, previous: string | undefined): boolean {
  return arg === '--port' || previous === '--port' || arg.startsWith('--port=')
}

/** Before 22.18, Node strips types only on request. */
function typeStripping(): string[] {
  const { typescript } = process.features as { typescript?: unknown }
  return typescript ? process.execArgv : [...process.execArgv, '--experimental-strip-types']
}

interface FileWatcher {
  add(file: string): void
  onChange(handler: (file: string) => void): void
  close(): void
}

/** Before 22.15, Node cannot report the files that it loads. Then all source files beside the agents are watched. */
const reportsFiles = 'registerHooks' in nodeModule
const sourceFile = /\.(?:[cm]?[jt]s|json)$/

/** Watches folders, because editors replace files instead of writing them. */
function createWatcher(files: readonly string[]): FileWatcher {
  const names = new Map<string, Set<string>>()
  const watchers = new Map<string, FSWatcher>()
  let handler: (file: string) => void = () => {}
  let timer: NodeJS.Timeout | undefined

  function add(file: string): void {
    const folder = dirname(file)
    const known = names.get(folder) ?? new Set()
    names.set(folder, known.add(basename(file)))
    if (watchers.has(folder)) return
    const watcher = watch(folder, (_, name) => {
      if (name === null || !(names.get(folder)?.has(name) || (!reportsFiles && sourceFile.test(name)))) return
      clearTimeout(timer)
      timer = setTimeout(() => handler(resolve(folder, name)), settleTime)
    })
    watchers.set(
      folder,
      watcher.on('error', () => watcher.close()),
    )
  }

  for (const file of files) add(file)
  return {
    add,
    onChange(next) {
      handler = next
    },
    close() {
      clearTimeout(timer)
      for (const watcher of watchers.values()) watcher.close()
    },
  }
}
