import type { TaskStatus } from '../protocol/model.ts'

/** The status after its message has entered the history. */
export function withoutMessage({ message: _, ...status }: TaskStatus): TaskStatus {
  return status
}
