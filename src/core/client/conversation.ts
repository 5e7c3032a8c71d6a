import { defined } from '../base/json.ts'
import type { Task } from '../protocol/model.ts'
import type { Reply } from '../protocol/reply.ts'
import { isEnded } from '../protocol/states.ts'
import type { ClientEvent } from './events.ts'
import type { Input, SendOptions } from './send-request.ts'

/** Sends messages to an agent. */
export interface MessageSender {
  send(input: Input, options?: SendOptions): Promise<Reply>
  stream(input: Input, options?: SendOptions): AsyncGenerator<ClientEvent>
}

export type ConversationStart = Pick<SendOptions, 'contextId' | 'taskId'>

/** Sends messages of one context, so that the agent knows the earlier ones. */
export interface Conversation extends MessageSender {
  readonly contextId: string | undefined
  /** The task that the next message continues: the last one, until it has ended. */
  readonly taskId: string | undefined
}

export function createConversation(sender: MessageSender, start: ConversationStart): Conversation {
  let { contextId, taskId } = start

  function continueTask(task: Pick<Task, 'id' | 'contextId'>, hasEnded: boolean): void {
    contextId = task.contextId || contextId
    taskId = hasEnded ? undefined : task.id
  }

  function update(event: ClientEvent | Reply): void {
    switch (event.type) {
      case 'message':
        contextId = event.message.contextId ?? contextId
        break
      case 'task':
        continueTask(event.task, isEnded(event.task.status.state))
        break
      case 'status':
        continueTask({ ...event, id: event.taskId }, isEnded(event.status.state))
        break
      case 'artifact':
        break
    }
  }

  const withIds = (options: SendOptions): SendOptions => ({ ...defined({ contextId, taskId }), ...options })

  return {
    get contextId() {
      return contextId
    },
    get taskId() {
      return taskId
    },
    async send(input, options = {}) {
      const reply = await sender.send(input, withIds(options))
      update(reply)
      return reply
    },
    async *stream(input, options = {}) {
      for await (const event of sender.stream(input, withIds(options))) {
        update(event)
        yield event
      }
    },
  }
}
