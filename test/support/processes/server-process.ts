import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { ServeOptions } from '../../../src/serve/options.ts'
import type { PostgresLogOptions } from '../../../src/stores/postgres/postgres-log.ts'
import { until } from '../async.ts'
import type { CrashPoint } from '../push/crashing-push.ts'
import { createWireClient, type WireClient } from '../wire/wire-client.ts'

export interface ServerProcess {
  readonly pid: number
  readonly wire: WireClient
  readonly url: string
  signal(name: NodeJS.Signals): void
  /** Resolves with its exit code, or the signal that killed it. */
  readonly ended: Promise<number | NodeJS.Signals | null>
  /** Its standard error output so far. */
  stderr(): string
}

export interface ProcessOptions extends Omit<ServeOptions, 'log' | 'logger' | 'directory'> {
  /** Stores tasks in PostgreSQL instead of a file in the directory. */
  readonly postgres?: { readonly url: string; readonly standbyUrl?: string } & Omit<
    PostgresLogOptions,
    'pool' | 'pools'
  >
  /** The process kills itself at this step of a delivery. */
  readonly crashPoint?: CrashPoint
}

const script = fileURLToPath(new URL('./scripted-server.ts', import.meta.url))

/** Starts `scripted-server.ts` as a process and waits until it listens. Killed after the test. */
export async function startServerProcess(
  directory: string,
  options: ProcessOptions = {},
  flags: readonly string[] = [],
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...flags, script, JSON.stringify({ ...options, directory })])
  onTestFinished(() => kill(child))
  let stderr = ''
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal)
  const listening = once(createInterface(child.stdout), 'line').then(([line]) => `${line}`)
  const url = await Promise.race([listening, ended])
  if (typeof url !== 'string' || !URL.canParse(url)) throw new Error(`The server did not start (${url}): ${stderr}`)
  return {
    pid: child.pid ?? 0,
    url,
    wire: createWireClient(url),
    signal: (name) => void child.kill(name),
    ended,
    stderr: () => stderr,
  }
}

/** The texts of the turns that ran on this directory, each with the id of its process. */
export async function recordedTurns(
  directory: string,
): Promise<readonly { readonly pid: number; readonly text: string }[]> {
  const lines = await readFile(join(directory, 'turns'), 'utf8').catch(() => '')
  return lines
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ pid: Number.parseInt(line, 10), text: line.slice(line.indexOf(' ') + 1) }))
}

/** `until` with a timeout for processes on a busy machine. */
export function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  return until(condition, 30_000)
}

/** Continues turns that wait for this name. */
export async function release(directory: string, name: string): Promise<void> {
  await writeFile(join(directory, name), '')
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
