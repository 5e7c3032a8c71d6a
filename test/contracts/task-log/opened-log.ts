import { onTestFinished } from 'vitest'
import type { TaskLog } from '../../../src/tasks/log.ts'

export interface OpenedLog {
  readonly log: TaskLog
  /** Closes it and removes what it leaves behind. */
  readonly cleanup: () => Promise<void>
}

/** Opens a new, empty log. */
export type OpenLog = () => Promise<OpenedLog>

/** A place where several logs, each as in a process of its own, keep the same tasks. */
export interface SharedPlace {
  open(): Promise<TaskLog>
  cleanup(): Promise<void>
}

/** A log for one test. */
export async function openForTest(open: OpenLog): Promise<TaskLog> {
  const { log, cleanup } = await open()
  onTestFinished(cleanup)
  return log
}
