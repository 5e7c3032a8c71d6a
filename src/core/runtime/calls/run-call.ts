import { answerLost } from '../../agent/ask.ts'
import { type CallAnswer, type CalledAgent, CallFailed } from '../../agent/call-agent.ts'
import type { EventSink } from '../../agent/turn.ts'
import { TaskLogger } from '../../base/logger.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { MessageEvent, StreamEvent } from '../../protocol/events.ts'
import {
  credentialsExtension,
  credentialsPart,
  isRedactedCredentials,
} from '../../protocol/extensions/in-task-credentials.ts'
import { checkLineage, identityOf, lineageExtension, writeLineage } from '../../protocol/extensions/lineage.ts'
import { type Message, ownerOf } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import type { Span } from '../../protocol/telemetry.ts'
import { runStep, type TurnScope } from '../turns/turn-scope.ts'
import { type CallAbort, createCallAbort, orAborted } from './call-abort.ts'
import {
  type CallStep,
  type ChildQuestion,
  type ChildTaskLink,
  callStepName,
  type FailedResult,
  type FollowResult,
  type SendKeys,
  type SendResult,
} from './call-steps.ts'
import { type CallPlan, targetKey } from './options.ts'
import type { Progress } from './progress.ts'
import { awaitCredentials, type QuestionQueue } from './questions.ts'
import { createRelay, type Relay, withTheirIds } from './relay.ts'
import { openRemoteTask, type RemoteTask } from './remote-task.ts'
import { answerOf, answerOfTask, failureOf } from './results.ts'

export interface CallContext {
  readonly scope: TurnScope
  readonly questions: QuestionQueue
  readonly progress: Progress
  /** Aborts when the turn is over, even if it has not awaited the call. */
  readonly turnOver: AbortSignal
  /** Set if the runtime has telemetry. */
  readonly span: Span | undefined
}

/**
 * One call to another agent, from the first message to the answer. The questions of the other agent go to our caller,
 * and its answers back. Between the steps, nothing may depend on time: a resumed turn must take the same path.
 */
export class CallExecution {
  readonly #plan: CallPlan
  readonly #context: CallContext
  readonly #abort: CallAbort
  readonly #remote: RemoteTask
  readonly #relay: Relay
  #sent: SendResult | undefined

  constructor(plan: CallPlan, context: CallContext) {
    const { scope, span } = context
    const { options } = plan
    this.#plan = plan
    this.#context = context
    this.#abort = createCallAbort({ turn: scope.stop.signal, signal: options.signal, clock: scope.settings.clock })
    this.#remote = openRemoteTask(plan, scope, span?.trace ?? scope.trace)
    this.#relay = createRelay(scope, options.relay ?? 'status')
  }

  async run(): Promise<CallAnswer> {
    const { turnOver } = this.#context
    const abort = this.#abort
    const onTurnOver = () => abort.abort('canceled')
    turnOver.addEventListener('abort', onTurnOver)
    try {
      const answer = await this.#converse()
      this.#remote.close()
      return answer
    } catch (error) {
      if (abort.cause) void this.#cancelRemoteTask()
      else this.#remote.close()
      if (abort.cause && abort.cause !== 'stopped' && !(error instanceof CallFailed)) throw this.#abortedError()
      throw error
    } finally {
      abort.release()
      turnOver.removeEventListener('abort', onTurnOver)
    }
  }

  /** Sends the message, follows the task, and forwards questions and answers until there is an answer. */
  async #converse(): Promise<CallAnswer> {
    const { scope } = this.#context
    const plan = this.#plan
    const keys = await this.#step('key', async () => this.#firstKeys())
    if (keys.deadline !== undefined) this.#abort.abortAt(keys.deadline)
    const request = createRequest(plan, keys, scope.task.taskId)
    let sent = await this.#step('send', () => this.#send(request, keys))
    let lastQuestion: Message | undefined
    for (;;) {
      this.#sent = sent
      if ('failed' in sent) throw new CallFailed(sent.failed)
      this.#rememberConversation(sent)
      if ('message' in sent) return answerOf(sent.agent, { type: 'message', message: sent.message })
      const { link } = sent
      const followed = await this.#step('follow', (sink) => this.#follow(link, lastQuestion, sink))
      if ('failed' in followed) throw new CallFailed({ ...followed.failed, taskId: link.taskId })
      if ('task' in followed) return answerOfTask(link.agent, followed.task, scope.secrets)
      const answer = await this.#askCaller(followed, link)
      lastQuestion = followed.question
      // Without an answer, the other agent has continued by itself.
      if (answer) sent = await this.#sendAnswer(answer, link, keys.deadline)
    }
  }

  #firstKeys(): SendKeys {
    const { lineage, settings } = this.#context.scope
    const { calls, clock } = settings
    const { contextId = calls.conversations.get(this.#conversationKey()), timeout } = this.#plan.options
    const limit = timeout ?? calls.limits.timeout
    const deadline = earlier(lineage.deadline, Number.isFinite(limit) ? clock.now() + limit : undefined)
    return {
      messageId: crypto.randomUUID(),
      idempotencyKey: crypto.randomUUID(),
      ...(contextId !== undefined && contextId !== 'new' && { contextId }),
      ...(deadline !== undefined && { deadline }),
    }
  }

  /** Sends a message and waits for the first event, which says whether the other agent creates a task. */
  #send(request: SendRequest, { idempotencyKey, deadline }: SendKeys): Promise<SendResult> {
    const { progress, span } = this.#context
    return this.#try<SendResult>(async () => {
      if (this.#plan.refusal) throw this.#plan.refusal
      const agent = await orAborted(this.#abort, this.#remote.agent())
      if (agent === 'aborted') return this.#abortedResult()
      const { name } = agent.card
      span?.addDetails({ agent: name })
      const reader = this.#remote.send(agent, this.#withLineage(request, agent, deadline), idempotencyKey)
      const first = await orAborted(this.#abort, reader.peek())
      if (first === 'aborted') return this.#abortedResult()
      if (first.done) throw new A2AError('invalid-agent-response', 'It ended without an answer.')
      const event = first.value
      if (event.type === 'message') {
        await progress.emit(event)
        return { agent: name, message: event.message }
      }
      const { id: taskId, contextId } = event.type === 'task' ? event.task : { ...event, id: event.taskId }
      return { link: { agent: name, taskId, contextId } }
    })
  }

  /** Adds the lineage for the other agent. Throws if the agent must not be called. */
  #withLineage(request: SendRequest, { card }: CalledAgent, deadline: number | undefined): SendRequest {
    const { clock, calls } = this.#context.scope.settings
    const lineage = { ...this.#plan.lineage, ...(deadline !== undefined && { deadline }) }
    const id = identityOf(card)
    checkLineage(lineage, { agent: card.name, ids: [id], maxDepth: calls.self.maxDepth }, clock.now())
    const { message } = request
    const metadata = { ...message.metadata, [lineageExtension]: writeLineage(lineage, { agent: card.name, id }) }
    return { ...request, message: { ...message, metadata } }
  }

  /** Reads the task until it ends or asks a question other than the last one. */
  #follow(link: ChildTaskLink, lastQuestion: Message | undefined, sink: EventSink): Promise<FollowResult> {
    const { progress, questions } = this.#context
    return this.#try<FollowResult>(async () => {
      const agent = await orAborted(this.#abort, this.#remote.agent())
      if (agent === 'aborted') return this.#abortedResult()
      const reader = this.#remote.reader ?? this.#remote.attach(agent, link.taskId)
      const { child } = this.#remote
      for (;;) {
        const next = await orAborted(this.#abort, reader.take())
        if (next === 'aborted') return this.#abortedResult()
        if (!next.done) {
          child.apply(next.value)
          await progress.emit(next.value)
          await this.#relay.forward(next.value, link, sink.emit)
        }
        const state = child.state()
        const task = child.task()
        if (state && task && isEnded(state)) return { task }
        const isAsking =
          state !== undefined && isInterrupted(state) && (next.done || !isStale(next.value, lastQuestion))
        if (isAsking && (state === 'input-required' || state === 'auth-required')) {
          const question = child.message()
          return { asks: state, ticket: questions.nextTicket(), ...(question && { question }) }
        }
        if (next.done) throw new A2AError('invalid-agent-response', 'Its stream ended before its task had.')
      }
    })
  }

  /** Asks our caller the question of the other agent. Undefined if the other agent needs no answer any more. */
  async #askCaller(question: ChildQuestion, link: ChildTaskLink): Promise<MessageEvent | undefined> {
    const { scope, questions, progress } = this.#context
    const [abort, remote, relay] = [this.#abort, this.#remote, this.#relay]
    questions.restore(question.ticket)
    const answer = await questions.inOrder(question.ticket, () =>
      question.asks === 'auth-required'
        ? awaitCredentials(question, { name: this.#plan.name, link, scope, remote, abort, relay, progress })
        : orAborted(abort, scope.ask(relay.question(question, link), { signal: abort.signal })),
    )
    if (answer === 'aborted') throw this.#abortedError()
    return answer
  }

  async #sendAnswer(answer: MessageEvent, link: ChildTaskLink, deadline: number | undefined): Promise<SendResult> {
    const { scope } = this.#context
    const newKeys = await this.#step('key', async () => ({
      messageId: crypto.randomUUID(),
      idempotencyKey: crypto.randomUUID(),
    }))
    const keys: SendKeys = { ...newKeys, ...(deadline !== undefined && { deadline }) }
    return await this.#step('send', () => this.#send(createAnswer(answer, link, keys, scope), keys))
  }

  #step<T>(step: CallStep, work: (sink: EventSink) => Promise<T>): Promise<T> {
    return runStep(this.#context.scope, callStepName(this.#plan.name, step), work)
  }

  /** Converts errors to results, which are stored. If the turn is stopped, it throws: the step was not done. */
  async #try<T>(work: () => Promise<T | FailedResult>): Promise<T | FailedResult> {
    const { stop, secrets } = this.#context.scope
    try {
      return await work()
    } catch (error) {
      if (stop.signal.aborted) throw stop.signal.reason
      if (this.#abort.cause) return this.#abortedResult()
      return { failed: failureOf(error, this.#plan.targetName, secrets) }
    }
  }

  #abortedResult(): FailedResult {
    const { cause } = this.#abort
    if (cause === 'stopped') throw this.#context.scope.stop.signal.reason
    const text = cause === 'timeout' ? 'it took too long' : 'it was given up'
    return { failed: { agent: this.#plan.targetName, message: `The call was canceled: ${text}.`, reason: cause } }
  }

  #abortedError(): CallFailed {
    return new CallFailed(this.#abortedResult().failed)
  }

  async #cancelRemoteTask(): Promise<void> {
    const { scope } = this.#context
    const taskId = this.#sent && 'link' in this.#sent ? this.#sent.link.taskId : undefined
    try {
      if (!this.#isTakenOver()) await this.#remote.cancel(taskId)
    } catch (error) {
      const { code } = error instanceof A2AError ? error : {}
      const logger = new TaskLogger(scope.settings.logger, scope.task, scope.trace)
      logger.info({ agent: this.#plan.targetName, code }, 'a call could not be canceled')
    } finally {
      this.#remote.close()
    }
  }

  /** Whether another process may resume the turn, and with it the task of the other agent. */
  #isTakenOver(): boolean {
    const { stop, settings } = this.#context.scope
    if (this.#abort.cause !== 'stopped') return false
    return stop.reason === 'lease-lost' || (stop.reason === 'shutdown' && settings.recovery.isJournaled)
  }

  /** The next call to this agent in the same context continues the conversation. */
  #rememberConversation(sent: Exclude<SendResult, FailedResult>): void {
    const contextId = 'link' in sent ? sent.link.contextId : sent.message.contextId
    if (contextId) this.#context.scope.settings.calls.conversations.set(this.#conversationKey(), contextId)
  }

  #conversationKey() {
    const { messageEvent, task } = this.#context.scope
    const { target, targetName } = this.#plan
    const owner = ownerOf(messageEvent.principal)
    return { owner, contextId: task.contextId, target: targetKey(target, targetName) }
  }
}

/** Whether a task event still carries the question that was just answered. */
function isStale(event: StreamEvent, lastQuestion: Message | undefined): boolean {
  if (event.type !== 'task' || !lastQuestion) return false
  const { message } = event.task.status
  return message === undefined || message.messageId === lastQuestion.messageId
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}

function createRequest(
  { content, options }: CallPlan,
  { messageId, contextId }: SendKeys,
  parent: string,
): SendRequest {
  const { taskId, skill, metadata, acceptedOutputModes } = options
  const message: Message = {
    ...content,
    messageId,
    role: 'user',
    ...(contextId !== undefined && taskId === undefined && { contextId }),
    ...(taskId !== undefined && { taskId }),
    referenceTaskIds: [...new Set([parent, ...(content.referenceTaskIds ?? [])])],
    metadata: { ...content.metadata, ...metadata, ...(skill !== undefined && { skillId: skill }) },
  }
  return { message, ...(acceptedOutputModes && { configuration: { acceptedOutputModes } }) }
}

/**
 * The answer of our caller for the other agent. Removed credentials are put back while this process holds them;
 * otherwise the other agent gets the redacted part, and asks again.
 */
function createAnswer(
  { message, ticket, sensitive }: MessageEvent,
  { taskId, contextId }: ChildTaskLink,
  { messageId }: SendKeys,
  { task, settings, secrets }: TurnScope,
): SendRequest {
  if (sensitive) throw answerLost()
  const inBand = settings.secretStore.get(ticket)?.inBand ?? []
  for (const { credentials } of inBand) secrets.add(credentials)
  const { [lineageExtension]: _, [credentialsExtension]: __, ...metadata } = message.metadata ?? {}
  const parts = withTheirIds(message.parts, taskId)
  const otherParts = inBand.length === 0 ? parts : parts.filter((part) => !isRedactedCredentials(part))
  return {
    message: {
      messageId,
      role: 'user',
      parts: [...otherParts, ...inBand.map(credentialsPart)],
      taskId,
      ...(contextId !== undefined && contextId !== '' && { contextId }),
      referenceTaskIds: [task.taskId],
      metadata,
    },
  }
}
