import type { Task } from '../protocol/model.ts'
import { isEnded } from '../protocol/states.ts'
import type { ClientEvent, Reply } from './reply.ts'
import type { Input, SendOptions } from './send-request.ts'

/** Who says it. */
export interface Speaker {
  send(input: Input, options?: SendOptions): Promise<Reply>
  stream(input: Input, options?: SendOptions): AsyncGenerator<ClientEvent>
}

export type ConversationStart = Pick<SendOptions, 'contextId' | 'taskId'>

/** What is said in it belongs together: the agent knows what was said before. */
export interface Conversation extends Speaker {
  readonly contextId: string | undefined
  /** The task that the next message goes on with: the last one, until it has ended. */
  readonly taskId: string | undefined
}

export function createConversation(speaker: Speaker, start: ConversationStart): Conversation {
  let { contextId, taskId } = start

  function follow(task: Pick<Task, 'id' | 'contextId'>, isOver: boolean): void {
    contextId = task.contextId || contextId
    taskId = isOver ? undefined : task.id
  }

  function note(event: ClientEvent | Reply): void {
    switch (event.type) {
      case 'message':
        contextId = event.message.contextId ?? contextId
        break
      case 'task':
        follow(event.task, isEnded(event.task.status.state))
        break
      case 'status':
        follow({ ...event, id: event.taskId }, isEnded(event.status.state))
        break
      case 'artifact':
        break
    }
  }

  const place = (options: SendOptions): SendOptions => ({
    ...(contextId !== undefined && { contextId }),
    ...(taskId !== undefined && { taskId }),
    ...options,
  })

  return {
    get contextId() {
      return contextId
    },
    get taskId() {
      return taskId
    },
    async send(input, options = {}) {
      const reply = await speaker.send(input, place(options))
      note(reply)
      return reply
    },
    async *stream(input, options = {}) {
      for await (const event of speaker.stream(input, place(options))) {
        note(event)
        yield event
      }
    },
  }
}
