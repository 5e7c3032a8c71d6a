import { keepSnapshot } from '../../tasks/fold.ts'
import type { NewTask, TaskLog } from '../../tasks/log.ts'

/**
 * Stores snapshots of tasks that grow, so that reading a long task does not start at its first event. One at a time,
 * because each holds the whole task in memory.
 */
export interface SnapshotQueue {
  add(task: NewTask): void
}

export function createSnapshotQueue(log: TaskLog): SnapshotQueue {
  /** By task id: a task that waits already is not added twice. */
  const waiting = new Map<string, NewTask>()
  let isWorking = false

  async function work(): Promise<void> {
    isWorking = true
    for (const [taskId, task] of waiting) {
      waiting.delete(taskId)
      await keepSnapshot(log, task).catch(() => {}) // readers do without it
    }
    isWorking = false
  }

  return {
    add(task) {
      waiting.set(task.taskId, task)
      if (!isWorking) void work()
    },
  }
}
