import type { Clock } from '../base/clock.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError, type ErrorCode, withContext } from '../protocol/errors.ts'
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
  /** The current card. */
  readonly card: () => AgentCard
  /** Replaces the card, by the extended one. */
  readonly onCard: (card: AgentCard) => void
  readonly service: Service
  readonly explain: () => Explanation
  /** Milliseconds in which a send must be answered, or its task must end or need the caller. */
  readonly timeout: number
  readonly clock: Clock
}

/** A client of one agent, with the types of its skills if they are known. */
export interface Client<Skills extends SkillMap = SkillMap> {
  /** The card of the agent: the extended one, once `extendedCard()` has fetched it. */
  readonly card: AgentCard
  /** The operations of A2A, as the runtime also implements them: for gateways and other servers in front of the agent. */
  readonly service: Service
  /**
   * Sends a message and waits until the agent answers, or until its task has ended or needs the caller.
   *
   * @example
   * const { text, artifacts } = await client.send('Write the report')
   */
  send(input: Input, options?: SendOptions): Promise<Reply>
  /**
   * Sends a message and emits every event of its task. Resumes if the connection breaks.
   *
   * @example
   * for await (const event of client.stream('Write the report')) console.log(event.type)
   */
  stream(input: Input, options?: SendOptions): AsyncGenerator<ClientEvent>
  /**
   * Calls a skill and returns its output. Throws if the task does not complete, or needs the caller.
   *
   * @example
   * const { total } = await client.skill('order', { item: 'chair', count: 4 })
   */
  skill<Id extends keyof Skills & string>(
    id: Id,
    input: Skills[Id]['input'],
    options?: Omit<SendOptions, 'skill'>,
  ): Promise<Skills[Id]['output']>
  /**
   * Returns a handle of a task: get it, wait for it, follow it, cancel it, manage its webhooks.
   *
   * @example
   * const reply = await client.task(id).wait()
   */
  task(id: string): TaskHandle
  /** Lists the caller's tasks, the newest first. */
  listTasks(filter?: TaskFilter, options?: CallOptions): AsyncGenerator<Task>
  /** Fetches the card for authenticated callers. The client uses it from then on. */
  extendedCard(options?: CallOptions): Promise<AgentCard>
  /**
   * Starts a conversation: its messages share a context, and answer the question of the last task.
   *
   * @example
   * const conversation = client.conversation()
   * await conversation.send('A chair')
   * await conversation.send('In blue')
   */
  conversation(start?: ConversationStart): Conversation
  /** Describes how the client found the agent, and the endpoint that it calls. */
  explain(): Explanation
}

export function createClient({ card, onCard, service, explain, clock, ...settings }: ClientOptions): Client {
  function requirePush({ push }: SendOptions): void {
    if (push) requireCapability(card(), 'pushNotifications', 'push-not-supported')
  }

  const client: Client = {
    get card() {
      return card()
    },
    service,
    explain,
    async send(input, options = {}) {
      requirePush(options)
      const { timeout = settings.timeout } = options
      const start = clock.now()
      const outcome = await service.sendMessage(await createSendRequest(input, options), callOf(options))
      const isFinal = outcome.type === 'message' || options.returnImmediately || isSettled(outcome.task)
      if (isFinal) return toReply(outcome)
      // Some agents answer a blocking send before the task has ended.
      const { id } = outcome.task
      try {
        return await client.task(id).wait({ ...options, timeout: Math.max(1, timeout - (clock.now() - start)) })
      } catch (error) {
        throw error instanceof A2AError && error.reason === 'deadline' ? taskTimeout(id, timeout, error) : error
      }
    },
    async *stream(input, options = {}) {
      requirePush(options)
      for await (const event of service.streamMessage(await createSendRequest(input, options), callOf(options))) {
        yield withAuthRequired(event)
      }
    },
    skill: (...call) => callSkill(client, ...call),
    task: (id) => createTaskHandle(service, id, () => requirePush({ push: { url: '' } })),
    listTasks: (filter = {}, options) => allTasks(service, filter, options),
    async extendedCard(options) {
      requireCapability(card(), 'extendedCard', 'extended-card-not-configured')
      const extended = await service.getExtendedCard({}, callOf(options))
      onCard(extended)
      return extended
    },
    conversation: (start = {}) => createConversation(client, start),
  }
  return client
}

/** Clients check the capabilities of an agent before they use them (A2A 1.0 §3.3.4). */
function requireCapability({ name, capabilities }: AgentCard, capability: Capability, code: ErrorCode): void {
  if (capabilities[capability] === true) return
  const problem = `${name} does not offer ${capabilityNames[capability]}: its card does not declare the capability.`
  throw new A2AError(code, problem, { reason: 'not-declared' })
}

type Capability = 'pushNotifications' | 'extendedCard'

const capabilityNames: Readonly<Record<Capability, string>> = {
  pushNotifications: 'push notifications',
  extendedCard: 'an extended card',
}

function taskTimeout(taskId: string, timeout: number, cause: A2AError): A2AError {
  const message = `The task ${taskId} did not end within ${timeout / 1000} seconds.`
  return withContext(cause, { code: 'timeout', message, cause, metadata: { taskId } })
}
