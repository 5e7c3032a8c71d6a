import type { Clock } from '../base/clock.ts'
import type { AgentCard } from '../protocol/card.ts'
import { A2AError, type ErrorCode, withContext } from '../protocol/errors.ts'
import type { SkillMap } from '../protocol/extensions/typed-skills.ts'
import type { Task } from '../protocol/model.ts'
import { type Reply, toReply } from '../protocol/reply.ts'
import type { Outcome, Service } from '../protocol/service.ts'
import { callSkill } from './call-skill.ts'
import { type Conversation, type ConversationStart, createConversation } from './conversation.ts'
import type { Explanation } from './diagnostics/connection-trace.ts'
import { type ClientEvent, isSettled, toClientEvents } from './events.ts'
import { allTasks } from './list-pages.ts'
import type { CallOptions, TaskFilter } from './options.ts'
import { callOf, createSendRequest, type Input, type SendOptions } from './send-request.ts'
import { createTaskHandle, type ExplainError, type TaskHandle } from './task-handle.ts'

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
  /** Some agents deliver to webhooks although their card does not say so. The error of one that refuses names the card. */
  const explainPush: ExplainError = (thrown) => {
    const { name, capabilities } = card()
    if (!(thrown instanceof A2AError) || capabilities.pushNotifications === true) return thrown
    if (!refusesPush.has(thrown.code)) return thrown
    const message = `${thrown.message} The card of ${name} does not declare push notifications.`
    return withContext(thrown, { message, reason: 'not-declared', cause: thrown })
  }

  const sendBy = async (input: Input, options: SendOptions): Promise<Outcome> => {
    try {
      return await service.sendMessage(await createSendRequest(input, options), callOf(options))
    } catch (error) {
      throw options.push ? explainPush(error) : error
    }
  }

  const client: Client = {
    get card() {
      return card()
    },
    service,
    explain,
    async send(input, options = {}) {
      const { timeout = settings.timeout } = options
      const start = clock.now()
      const outcome = await sendBy(input, options)
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
      const request = await createSendRequest(input, options)
      try {
        yield* toClientEvents(service.streamMessage(request, callOf(options)))
      } catch (error) {
        throw options.push ? explainPush(error) : error
      }
    },
    skill: (...call) => callSkill(client, ...call),
    task: (id) => createTaskHandle(service, id, explainPush),
    listTasks: (filter = {}, options) => allTasks(service, filter, options),
    async extendedCard(options) {
      requireExtendedCard(card())
      const extended = await service.getExtendedCard({}, callOf(options))
      onCard(extended)
      return extended
    },
    conversation: (start = {}) => createConversation(client, start),
  }
  return client
}

/** Clients check the capability before they use it (A2A 1.0 §3.3.4). */
function requireExtendedCard({ name, capabilities }: AgentCard): void {
  if (capabilities.extendedCard === true) return
  const problem = `${name} does not offer an extended card: its card does not declare the capability.`
  throw new A2AError('extended-card-not-configured', problem, { reason: 'not-declared' })
}

/** Errors by which agents refuse webhooks. */
const refusesPush: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'push-not-supported',
  'unsupported-operation',
  'method-not-found',
])

function taskTimeout(taskId: string, timeout: number, cause: A2AError): A2AError {
  const message = `The task ${taskId} did not end within ${timeout / 1000} seconds.`
  return withContext(cause, { code: 'timeout', message, cause, metadata: { taskId } })
}
