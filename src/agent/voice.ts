import type { StatusEvent } from '../protocol/events.ts'
import type { Message, TaskState } from '../protocol/model.ts'
import { timestampNow } from '../protocol/timestamp.ts'
import { type Content, toParts } from './content.ts'

/** What an agent says, in the form in which it is stored. */
export interface Voice {
  message(content: Content): Message
  status(state: TaskState, content?: Content): StatusEvent
}

export function createVoice(task: { readonly taskId: string; readonly contextId: string }): Voice {
  const { taskId, contextId } = task

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
        timestamp: timestampNow(),
      },
    }),
  }
}
