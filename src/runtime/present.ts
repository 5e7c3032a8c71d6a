import type { Task } from '../protocol/model.ts'

/** At most the newest messages that the caller asked for; all of them if it did not say. */
export function limitHistory(task: Task, historyLength: number | undefined): Task {
  if (historyLength === undefined || task.history.length <= historyLength) return task
  return { ...task, history: historyLength === 0 ? [] : task.history.slice(-historyLength) }
}
