import type { StreamEvent } from '../protocol/events.ts'
import type { JsonObject, Task } from '../protocol/model.ts'

/** What a webhook can be told: every status, those at which a task rests, chunks of artifacts, answers without a task. */
export type PushedKind = 'status' | 'rest' | 'artifact' | 'message'

/** How a dialect tells webhooks. */
export interface PushForm {
  readonly contentType: string
  /** What it can tell, and what it does unless that is chosen. */
  readonly kinds: readonly PushedKind[]
  readonly usually: readonly PushedKind[]
  /** Whether an event is told as the task as of then, and `encode` gets that. */
  readonly tellsTask: boolean
  /** A config that is registered without an id takes the place of the one before. */
  readonly isOnlyUnnamed: boolean
  /** The body, under the id by which the receiver knows the task. */
  encode(event: StreamEvent, taskId: string): JsonObject
}

/** Before 1.0 a webhook gets the task itself, without an envelope. */
export function bareTaskForm(encodeTask: (task: Task) => JsonObject): PushForm {
  return {
    contentType: 'application/json',
    kinds: ['status', 'rest'],
    usually: ['rest'],
    tellsTask: true,
    isOnlyUnnamed: true,
    encode(event) {
      if (event.type !== 'task') throw new Error(`Expected a task, got an event of type ${event.type}.`)
      return encodeTask(event.task)
    },
  }
}
