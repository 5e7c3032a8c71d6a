import type { JsonObject } from '../core/base/json.ts'
import { isObject } from '../core/base/json.ts'
import { describe, isInterrupted, isTerminal, listOf, sentMessage, sentTask, type TaskAnswer } from './answers.ts'
import { isCurrent } from './interface.ts'
import { type MessageInput, messageParams } from './requests.ts'
import { measureIf, NotMeasured } from './verdict.ts'
import type { Wire, WireExchange } from './wire.ts'

/** Texts that make the agent behave as a check needs it. */
export interface Texts {
  /** A message that the agent answers with a task that completes. */
  readonly task?: string
  /** A message that the agent answers with a message, without a task. */
  readonly message?: string
  /** A message after which the task waits for input. */
  readonly inputRequired?: string
  /** A message whose task works until it is canceled, or for at least a minute. */
  readonly longRunning?: string
}

/** Receives the webhooks of an agent for the suite. */
export interface WebhookReceiver {
  /** The address that is registered with the agent. The suite appends a path of its own for each webhook. */
  readonly url: string
  /** The first delivery to a path. Undefined if none has come in this time, in milliseconds. */
  receive(path: string, timeout: number): Promise<ReceivedWebhook | undefined>
}

/** A request of an agent to a webhook. */
export interface ReceivedWebhook {
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A card as the agent served it. */
export interface ServedCard {
  readonly url: string
  /** The headers that selected this card. */
  readonly selectedBy: Readonly<Record<string, string>>
  readonly status: number
  readonly headers: Headers
  readonly json: JsonObject
}

/** What a check works with: one interface of the agent, and tasks in the states that rules are about. */
export interface ConformanceSession {
  readonly wire: Wire
  readonly card: JsonObject
  readonly served: ServedCard
  /** Requests a card again, with other headers. */
  fetchCard(headers: Readonly<Record<string, string>>): Promise<{ readonly status: number; readonly text: string }>
  /** The headers that carry the credentials of the caller. */
  readonly credentialNames: readonly string[]
  /** The credentials of a second caller, and the receiver of webhooks, if the user has any. */
  readonly otherHeaders: Readonly<Record<string, string>> | undefined
  readonly webhooks: WebhookReceiver | undefined
  has(capability: 'streaming' | 'pushNotifications' | 'extendedAgentCard'): boolean
  send(input: MessageInput): Promise<WireExchange>
  /** The text for a kind of answer. Throws a `NotMeasured` if it is not known. */
  text(name: keyof Texts): Promise<string>
  /** A task that has completed. The same for all checks. */
  completedTask(): Promise<TaskAnswer>
  /** A new task that works until it is canceled. */
  runningTask(): Promise<TaskAnswer>
  /** A new task that waits for input. */
  waitingTask(): Promise<TaskAnswer>
  /** Cancels the tasks that are still running. */
  close(): Promise<void>
}

/** Examples of skills that are sent to find out how the agent answers. */
const maxExamples = 6

/** Tries what the agent answers to the examples of its skills, where the caller named no text. */
export async function probeTexts(wire: Wire, card: JsonObject, texts: Texts): Promise<Texts> {
  const found: { -readonly [Name in keyof Texts]: Texts[Name] } = { ...texts }
  const examples = listOf(card.skills).flatMap(({ examples }) => (Array.isArray(examples) ? examples : []))
  const candidates = ['Hello', ...examples.filter((text): text is string => typeof text === 'string')]
  for (const text of candidates.slice(0, maxExamples + 1)) {
    if (found.task !== undefined && found.message !== undefined && found.inputRequired !== undefined) break
    const answer = await wire.call('send', messageParams({ text }, wire.target)).catch(() => undefined)
    if (!answer) continue
    const task = sentTask(answer, wire.target)
    if (task?.state === 'completed') found.task ??= text
    if (task?.state === 'input-required') found.inputRequired ??= text
    if (sentMessage(answer, wire.target)) found.message ??= text
  }
  return found
}

export interface SessionOptions
  extends Omit<
    ConformanceSession,
    'has' | 'send' | 'text' | 'completedTask' | 'runningTask' | 'waitingTask' | 'close'
  > {
  readonly texts: Texts
}

export function createSession({ texts, ...options }: SessionOptions): ConformanceSession {
  const { wire, card } = options
  const { target } = wire
  const running = new Set<string>()
  let completed: Promise<TaskAnswer> | undefined

  const send = (input: MessageInput) => wire.call('send', messageParams(input, target))

  function capability(name: 'streaming' | 'pushNotifications' | 'extendedAgentCard'): boolean {
    if (name === 'extendedAgentCard' && !isCurrent(target.version))
      return card.supportsAuthenticatedExtendedCard === true
    return isObject(card.capabilities) && card.capabilities[name] === true
  }

  async function text(name: keyof Texts): Promise<string> {
    const value = texts[name]
    measureIf(value !== undefined, `No text is known for which the agent ${behaviours[name]}.`)
    return value
  }

  /** A task in a state, or the reason why the rule cannot be judged: other rules judge the answer itself. */
  async function taskFor(input: MessageInput, isWanted: (task: TaskAnswer) => boolean): Promise<TaskAnswer> {
    const answer = await send(input)
    const task = sentTask(answer, target)
    if (task && !isTerminal(task.state) && !isInterrupted(task.state)) running.add(task.id)
    if (task && isWanted(task)) return task
    throw new NotMeasured(`"${input.text}" did not lead to the task that the check needs, but to ${describe(answer)}.`)
  }

  async function completeTask(): Promise<TaskAnswer> {
    return await taskFor({ text: await text('task') }, ({ state }) => state === 'completed')
  }

  return {
    ...options,
    has: capability,
    send,
    text,
    async completedTask() {
      completed ??= completeTask()
      return await completed
    },
    async runningTask() {
      measureIf(target.version !== '0.1', 'A2A 0.1 cannot start a task without waiting for it.')
      return await taskFor(
        { text: await text('longRunning'), returnImmediately: true },
        ({ state }) => !isTerminal(state) && !isInterrupted(state),
      )
    },
    async waitingTask() {
      return await taskFor({ text: await text('inputRequired') }, ({ state }) => state === 'input-required')
    },
    async close() {
      for (const id of running) await wire.call('cancel', { id }).catch(() => {})
      running.clear()
    },
  }
}

const behaviours: Readonly<Record<keyof Texts, string>> = {
  task: 'completes a task (--task-text)',
  message: 'answers with a message alone (--message-text)',
  inputRequired: 'requires input (--input-required-text)',
  longRunning: 'works for a long time (--long-running-text)',
}
