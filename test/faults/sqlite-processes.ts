import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export type Work = { readonly file: string } & (
  | { readonly type: 'create'; readonly taskId: string }
  | {
      readonly type: 'send-and-follow'
      readonly taskIds: readonly string[]
      readonly name: string
      readonly count: number
      /** The generation at which everything has been seen. */
      readonly until: number
    }
  | { readonly type: 'append-forever'; readonly tasks: number }
)

export type Report =
  | { readonly type: 'ready' }
  | { readonly type: 'stored'; readonly taskId: string; readonly generation: number }
  | { readonly type: 'seen'; readonly taskId: string; readonly generations: readonly number[] }

export interface Child {
  /** Sends the work to the process. */
  start(work: Work): void
  readonly reports: readonly Report[]
  kill(): void
  /** The exit code, or the signal that killed the process. */
  readonly ended: Promise<number | string>
}

/** Resolves when the process waits for work. */
export async function startChild(): Promise<Child> {
  const child: ChildProcess = fork(fileURLToPath(new URL('./sqlite-child.ts', import.meta.url)), { execArgv: [] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const reports: Report[] = []
  child.on('message', (report: Report) => reports.push(report))
  const ended = once(child, 'close').then(([code, signal]: (number | string)[]) => code ?? signal ?? '')
  await once(child, 'message')
  return { start: (work) => child.send(work), reports, kill: () => child.kill('SIGKILL'), ended }
}

export function newFile(): string {
  const directory = mkdtempSync(join(tmpdir(), 'parley-faults-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  return join(directory, 'tasks.db')
}
