import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { FromServer, Questions, ToServer } from './servers/control.ts'

/** A server in a process of its own, on a core of its own where that can be had. */
export interface ServerProcess {
  readonly port: number
  ask<Name extends keyof Questions>(question: Name): Promise<Questions[Name]>
  stop(): Promise<void>
}

export async function startServer(script: URL, ...args: readonly string[]): Promise<ServerProcess> {
  const child = spawn(...onServerCore(['--expose-gc', ...profiling(), fileURLToPath(script), ...args]), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const pending = new Map<number, (answer: unknown) => void>()
  let lastId = 0

  const port = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${script.pathname} ended with ${code} before it was ready`)))
    child.on('message', (message: FromServer) => {
      if ('port' in message) return resolve(message.port)
      pending.get(message.id)?.(message.answer)
      pending.delete(message.id)
    })
  })

  return {
    port,
    ask: (question) =>
      new Promise((resolve) => {
        const id = ++lastId
        pending.set(id, resolve as (answer: unknown) => void)
        child.send({ id, question } satisfies ToServer)
      }),
    async stop() {
      // It ends by itself when the channel closes.
      child.disconnect()
      const impatient = setTimeout(() => child.kill('SIGKILL'), 3_000)
      await exited
      clearTimeout(impatient)
    },
  }
}

/** The command that runs Node with these arguments where servers run. */
export function onServerCore(args: readonly string[]): [command: string, args: string[]] {
  return canPin && isPinning ? [taskset, ['-c', '0', process.execPath, ...args]] : [process.execPath, [...args]]
}

/** Keeps the load off the servers' core. */
export function pinToLoadCore(): void {
  pin('1')
}

/** Lets everything run where there is room, until it is told otherwise: more than two have a part in it. */
export function unpin(): Disposable {
  isPinning = false
  pin(`0-${cores - 1}`)
  return {
    [Symbol.dispose]() {
      isPinning = true
      pinToLoadCore()
    },
  }
}

function pin(cores: string): void {
  if (canPin) spawnSync(taskset, ['-a', '-p', '-c', cores, String(process.pid)], { stdio: 'ignore' })
}

let isPinning = true

const taskset = '/usr/bin/taskset'
/** Asked before any is taken away: whoever is pinned sees only its own. */
const cores = availableParallelism()
const canPin = existsSync(taskset) && cores >= 2

/** With a directory in BENCH_PROFILE, every server leaves a CPU profile there. */
function profiling(): readonly string[] {
  const directory = process.env.BENCH_PROFILE
  return directory ? ['--cpu-prof', '--cpu-prof-interval', '200', '--cpu-prof-dir', directory] : []
}
