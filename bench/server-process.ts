import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import type { MetricRequest, ServerMessage, ServerMetrics } from './servers/control.ts'

/** A server in a separate process, pinned to a separate core if possible. */
export interface ServerProcess {
  readonly port: number
  read<Name extends keyof ServerMetrics>(metric: Name): Promise<ServerMetrics[Name]>
  stop(): Promise<void>
}

/** Without the log lines of every turn, which the other servers do not write either. */
export const quietEnvironment = { ...process.env, PARLEY_LOG_LEVEL: 'warn' }

export async function startServer(script: URL, ...args: readonly string[]): Promise<ServerProcess> {
  const child = spawn(...onServerCore(['--expose-gc', ...profiling(), fileURLToPath(script), ...args]), {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: quietEnvironment,
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const pending = new Map<number, (value: unknown) => void>()
  let lastId = 0

  const port = await new Promise<number>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => reject(new Error(`${script.pathname} ended with ${code} before it was ready`)))
    child.on('message', (message: ServerMessage) => {
      if ('port' in message) return resolve(message.port)
      pending.get(message.id)?.(message.value)
      pending.delete(message.id)
    })
  })

  return {
    port,
    read: (metric) =>
      new Promise((resolve) => {
        const id = ++lastId
        pending.set(id, resolve as (value: unknown) => void)
        child.send({ id, metric } satisfies MetricRequest)
      }),
    async stop() {
      // The process exits when the channel closes.
      child.disconnect()
      const killTimer = setTimeout(() => child.kill('SIGKILL'), 3_000)
      await exited
      clearTimeout(killTimer)
    },
  }
}

/** The command that runs Node with these arguments on the servers' core. */
export function onServerCore(args: readonly string[]): [command: string, args: string[]] {
  return canPin && isPinning ? [taskset, ['-c', '0', process.execPath, ...args]] : [process.execPath, [...args]]
}

/** Keeps the load off the servers' core. */
export function pinToLoadCore(): void {
  pin('1')
}

/** Allows all cores until it is disposed, for benchmarks with more than two processes. */
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
/** Read before pinning: a pinned process sees only its own core. */
const cores = availableParallelism()
const canPin = existsSync(taskset) && cores >= 2

/** If BENCH_PROFILE names a directory, every server writes a CPU profile there. */
function profiling(): readonly string[] {
  const directory = process.env.BENCH_PROFILE
  return directory ? ['--cpu-prof', '--cpu-prof-interval', '200', '--cpu-prof-dir', directory] : []
}
