import type { StatusEvent } from '../protocol/events.ts'
import type { Message, TaskState } from '../protocol/model.ts'
import { timestampNow } from '../protocol/timestamp.ts'
import { type Content, toParts } from './content.ts'

/** What an agent says, in the form in which it is stored. */
export interface Voice {
  message(content: Content): Message
  status(state: TaskState, content?: Content): StatusEvent
}

/** Whose voice it is, and by which clock it speaks. */
export interface Speaking {
  readonly taskId: string
  readonly contextId: string
}

export function createVoice({ taskId, contextId }: Speaking, now: () => number = Date.now): Voice {
  function message(content: Content): Message {
    return { messageId: crypto.randomUUID(), role: 'agent', parts: toParts(content), taskId, contextId }
  }

  return {
    message,
    status: (state, content) => ({
      type: 'status',
      status: {
        state,
        message: content === undefined ? undefined : message(content),
        timestamp: timestampNow(now()),
      },
    }),
  }
}
