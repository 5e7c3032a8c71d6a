import type { AgentCard } from '../protocol/card.ts'
import type { SkillMap } from '../protocol/extensions/typed-skills.ts'
import type { Task } from '../protocol/model.ts'
import type { Service } from '../protocol/service.ts'
import { callOf } from './call.ts'
import { callSkill } from './call-skill.ts'
import { type Conversation, type ConversationStart, createConversation } from './conversation.ts'
import type { Explanation } from './diagnostics/connection-trace.ts'
import { allTasks } from './list-pages.ts'
import type { CallOptions, TaskFilter } from './options.ts'
import { type ClientEvent, type Reply, toReply, withAuthRequired } from './reply.ts'
import { createSendRequest, type Input, type SendOptions } from './send-request.ts'
import { createTaskHandle, isSettled, type TaskHandle } from './task-handle.ts'

export interface ClientOptions {
  readonly card: AgentCard
  readonly service: Service
  readonly explain: () => Explanation
}

/** An agent somewhere else, to be talked to; with the types of its skills, where they are known. */
export interface Client<Skills extends SkillMap = SkillMap> {
  readonly card: AgentCard
  /** The operations of A2A as the runtime has them too: what a gateway or a face is put on. */
  readonly service: Service
  /** Says something and waits for what comes of it. */
  send(input: Input, options?: SendOptions): Promise<Reply>
  /** Says something and tells everything that comes of it, also if the connection breaks. */
  stream(input: Input, options?: SendOptions): AsyncGenerator<ClientEvent>
  /** Has a skill do its work, and gives what it returns. Throws if the task ends otherwise, or needs its caller. */
  skill<Id extends keyof Skills & string>(
    id: Id,
    input: Skills[Id]['input'],
    options?: Omit<SendOptions, 'skill'>,
  ): Promise<Skills[Id]['output']>
  task(id: string): TaskHandle
  /** The newest first. */
  listTasks(filter?: TaskFilter, options?: CallOptions): AsyncGenerator<Task>
  /** The card for callers that the agent knows. */
  extendedCard(options?: CallOptions): Promise<AgentCard>
  conversation(start?: ConversationStart): Conversation
  /** What was tried to reach the agent, and which way calls take. */
  explain(): Explanation
}

export function createClient({ card, service, explain }: ClientOptions): Client {
  const client: Client = {
    card,
    service,
    explain,
    async send(input, options = {}) {
      const outcome = await service.sendMessage(await createSendRequest(input, options), callOf(options))
      const isWaiting = outcome.type === 'message' || options.returnImmediately || isSettled(outcome.task)
      // Agents may answer before the task rests, whatever they were asked for.
      return isWaiting ? toReply(outcome) : await client.task(outcome.task.id).wait(options)
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
