import type { AgentCard } from '../protocol/card.ts'
import type { SkillMap } from '../protocol/extensions/typed-skills.ts'
import type { Task } from '../protocol/model.ts'
import type { Service } from '../protocol/service.ts'
import { callSkill } from './call-skill.ts'
import { type Conversation, type ConversationStart, createConversation } from './conversation.ts'
import type { Explanation } from './diagnostics/connection-trace.ts'
import { allTasks } from './list-pages.ts'
import type { CallOptions, TaskFilter } from './options.ts'
import { type ClientEvent, isSettled, type Reply, toReply, withAuthRequired } from './reply.ts'
import { callOf, createSendRequest, type Input, type SendOptions } from './send-request.ts'
import { createTaskHandle, type TaskHandle } from './task-handle.ts'

export interface ClientOptions {
  readonly card: AgentCard
  readonly service: Service
  readonly explain: () => Explanation
}

/** A client of one agent, with the types of its skills if they are known. */
export interface Client<Skills extends SkillMap = SkillMap> {
  readonly card: AgentCard
  /** The operations of A2A, as the runtime also implements them: for gateways and other servers in front of the agent. */
  readonly service: Service
  /** Sends a message and waits until the agent answers, or until its task has ended or needs the caller. */
  send(input: Input, options?: SendOptions): Promise<Reply>
  /** Sends a message and emits every event of its task. Resumes if the connection breaks. */
  stream(input: Input, options?: SendOptions): AsyncGenerator<ClientEvent>
  /** Calls a skill and returns its output. Throws if the task does not complete, or needs the caller. */
  skill<Id extends keyof Skills & string>(
    id: Id,
    input: Skills[Id]['input'],
    options?: Omit<SendOptions, 'skill'>,
  ): Promise<Skills[Id]['output']>
  task(id: string): TaskHandle
  /** Lists the caller's tasks, the newest first. */
  listTasks(filter?: TaskFilter, options?: CallOptions): AsyncGenerator<Task>
  /** The card for authenticated callers. */
  extendedCard(options?: CallOptions): Promise<AgentCard>
  conversation(start?: ConversationStart): Conversation
  /** Describes how the client found the agent, and the endpoint that it calls. */
  explain(): Explanation
}

export function createClient({ card, service, explain }: ClientOptions): Client {
  const client: Client = {
    card,
    service,
    explain,
    async send(input, options = {}) {
      const outcome = await service.sendMessage(await createSendRequest(input, options), callOf(options))
      const isFinal = outcome.type === 'message' || options.returnImmediately || isSettled(outcome.task)
      // Some agents answer a blocking send before the task has ended.
      return isFinal ? toReply(outcome) : await client.task(outcome.task.id).wait(options)
    },
    async *stream(input, options = {}) {
      for await (const event of service.streamMessage(await createSendRequest(input, options), callOf(options))) {
        yield withAuthRequired(event)
      }
    },
    skill: (...call) => callSkill(client, ...call),
    task: (id) => createTaskHandle(service, id),
    listTasks: (filter = {}, options) => allTasks(service, filter, options),
    extendedCard: (options) => service.getExtendedCard({}, callOf(options)),
    conversation: (start = {}) => createConversation(client, start),
  }
  return client
}
