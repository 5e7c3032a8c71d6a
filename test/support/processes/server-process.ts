import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import type { PostgresLogOptions } from '../../../src/entries/postgres.ts'
import type { ServeOptions } from '../../../src/serve-options.ts'
import { until } from '../async.ts'
import type { CrashPoint } from '../push/crashing-push.ts'
import { createWireClient, type WireClient } from '../wire/wire-client.ts'

export interface ServerProcess {
  readonly pid: number
  readonly wire: WireClient
  readonly url: string
  signal(name: NodeJS.Signals): void
  /** How it ended: its exit code, or the signal that killed it. */
  readonly ended: Promise<number | NodeJS.Signals | null>
  /** What it has said on its standard error output so far. */
  complaints(): string
}

export interface ProcessOptions extends Omit<ServeOptions, 'log' | 'logger' | 'directory'> {
  /** Keeps tasks in PostgreSQL and not in a file of the directory. */
  readonly postgres?: { readonly url: string } & Omit<PostgresLogOptions, 'pool'>
  /** Kills itself at this step of a delivery. */
  readonly crashPoint?: CrashPoint
}

const script = fileURLToPath(new URL('./scripted-server.ts', import.meta.url))

/** Starts the scripted server in a process of its own and waits until it listens. It does not outlive the test. */
export async function startServerProcess(
  directory: string,
  options: ProcessOptions = {},
  flags: readonly string[] = [],
): Promise<ServerProcess> {
  const child = spawn(process.execPath, [...flags, script, JSON.stringify({ ...options, directory })])
  onTestFinished(() => kill(child))
  let complaints = ''
  child.stderr.on('data', (chunk) => {
    complaints += chunk
  })
  const ended = once(child, 'exit').then(([code, signal]) => code ?? signal)
  const listening = once(createInterface(child.stdout), 'line').then(([line]) => `${line}`)
  const url = await Promise.race([listening, ended])
  if (typeof url !== 'string' || !URL.canParse(url)) throw new Error(`The server did not start: ${complaints}`)
  return {
    pid: child.pid ?? 0,
    url,
    wire: createWireClient(url),
    signal: (name) => void child.kill(name),
    ended,
    complaints: () => complaints,
  }
}

/** The texts of the turns that were run on this directory, each with the process that ran it. */
export async function recordedTurns(
  directory: string,
): Promise<readonly { readonly pid: number; readonly text: string }[]> {
  const lines = await readFile(join(directory, 'ledger'), 'utf8').catch(() => '')
  return lines
    .split('\n')
    .filter(Boolean)
    .map((line) => ({ pid: Number.parseInt(line, 10), text: line.slice(line.indexOf(' ') + 1) }))
}

/** Waits until it is so. Processes may be slow on a busy machine. */
export function eventually(condition: () => boolean | Promise<boolean>): Promise<void> {
  return until(condition, 30_000)
}

/** Lets turns go on that hold for this name. */
export async function release(directory: string, name: string): Promise<void> {
  await writeFile(join(directory, name), '')
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
