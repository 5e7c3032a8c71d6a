import type { StreamEvent } from '../../protocol/events.ts'
import type { Message, Task, TaskState } from '../../protocol/model.ts'
import { createFold, type Fold } from '../../tasks/fold.ts'

/** The other agent's task, as its events tell it. */
export interface ChildTask {
  take(event: StreamEvent): void
  state(): TaskState | undefined
  /** What the status says. */
  message(): Message | undefined
  /** Without its history, which is its own business. */
  task(): Task | undefined
}

export function createChildTask(): ChildTask {
  let fold: Fold | undefined
  let state: TaskState | undefined
  let message: Message | undefined

  function begin({ id: taskId, contextId, status, artifacts, generation }: Task): void {
    fold = createFold(
      { taskId, contextId, owner: '' },
      { taskId, contextId, owner: '', generation, status, artifacts, history: [] },
    )
    state = status.state
    message = status.message
  }

  return {
    take(event) {
      if (event.type === 'message') return
      if (event.type === 'task') return begin(event.task)
      const { taskId, contextId, generation } = event
      fold ??= createFold({ taskId, contextId, owner: '' })
      fold.apply({ generation, event })
      if (event.type === 'artifact') return
      state = event.status.state
      message = event.status.message
    },
    state: () => state,
    message: () => message,
    task() {
      const task = fold?.task()
      return task && { ...task, history: [] }
    },
  }
}
