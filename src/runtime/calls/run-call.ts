import { answerLost } from '../../agent/ask.ts'
import { type CallAnswer, type CalledAgent, CallFailed } from '../../agent/call-agent.ts'
import type { EventSink } from '../../agent/turn-output.ts'
import { TaskLogger } from '../../base/logger.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { MessageEvent, StreamEvent } from '../../protocol/events.ts'
import {
  credentialsExtension,
  credentialsPart,
  isRedactedCredentials,
} from '../../protocol/extensions/in-task-credentials.ts'
import { checkLineage, identityOf, lineageExtension, writeLineage } from '../../protocol/extensions/lineage.ts'
import type { Message } from '../../protocol/model.ts'
import { ownerOf } from '../../protocol/principal.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { isEnded, isInterrupted } from '../../protocol/states.ts'
import type { Span } from '../../protocol/telemetry.ts'
import { newId } from '../operations/idempotency.ts'
import { runStep, type TurnScope } from '../turns/turn-scope.ts'
import { awaitCredentials } from './await-credentials.ts'
import { createCallAbort, orAborted } from './call-abort.ts'
import { type CallPlan, targetKey } from './options.ts'
import type { Progress } from './progress.ts'
import { createRelay, type QuestionQueue, withTheirIds } from './questions.ts'
import { openRemoteTask } from './remote-task.ts'
import {
  answerIn,
  type ChildTaskLink,
  type FailedResult,
  type FollowResult,
  failureOf,
  outcomeOf,
  type SendKeys,
  type SendResult,
} from './results.ts'

export interface CallContext {
  readonly scope: TurnScope
  readonly questions: QuestionQueue
  readonly progress: Progress
  /** Of the turn: aborts when it is over, whether its calls are or not. */
  readonly over: AbortSignal
  /** If somebody watches. */
  readonly span: Span | undefined
}

/**
 * One call from its beginning to its answer: sent, followed, and, each time the other agent needs something, asked for
 * it and answered. All that differs from run to run is in steps, so that a durable turn goes on where it was; nothing
 * may come between them that depends on time.
 */
export async function runCall(
  plan: CallPlan,
  { scope, questions, progress, over, span }: CallContext,
): Promise<CallAnswer> {
  const { name, options } = plan
  const { settings, stop } = scope
  const { clock, calls } = settings
  const abort = createCallAbort({ turn: stop.signal, signal: options.signal, clock })
  const onOver = () => abort.abort('canceled')
  over.addEventListener('abort', onOver)
  const remote = openRemoteTask(plan, scope, span?.trace ?? scope.trace)
  const relay = createRelay(scope, options.relay ?? 'status')
  let sent: SendResult | undefined

  function newKeys(): Promise<SendKeys> {
    return runStep(scope, `${name}: key`, async () => ({ messageId: newId(), idempotencyKey: newId() }))
  }

  /** Throws if it is the turn that is stopped: what it did not do is not stored. */
  function halted(): FailedResult {
    if (abort.cause === 'stopped') throw stop.signal.reason
    const why = abort.cause === 'timeout' ? 'it took too long' : 'it was given up'
    return { failed: { agent: plan.targetName, message: `The call was canceled: ${why}.`, reason: abort.cause } }
  }

  async function trying<T>(work: () => Promise<T | FailedResult>): Promise<T | FailedResult> {
    try {
      return await work()
    } catch (error) {
      if (stop.signal.aborted) throw stop.signal.reason
      if (abort.cause) return halted()
      return { failed: failureOf(error, plan.targetName, scope.secrets) }
    }
  }

  /** As this callee is to be told, and only if it may be asked at all. */
  function addressed(request: SendRequest, { card }: CalledAgent, deadline: number | undefined): SendRequest {
    const lineage = { ...plan.lineage, ...(deadline !== undefined && { deadline }) }
    const id = identityOf(card)
    checkLineage(lineage, { agent: card.name, ids: [id], maxDepth: calls.self.maxDepth }, clock.now())
    const { message } = request
    const metadata = { ...message.metadata, [lineageExtension]: writeLineage(lineage, { agent: card.name, id }) }
    return { ...request, message: { ...message, metadata } }
  }

  function send(request: SendRequest, { idempotencyKey, deadline }: SendKeys): Promise<SendResult> {
    return trying<SendResult>(async () => {
      if (plan.refusal) throw plan.refusal
      const callee = await orAborted(abort, remote.callee())
      if (callee === 'halted') return halted()
      span?.learn({ agent: callee.card.name })
      const reader = remote.send(callee, addressed(request, callee, deadline), idempotencyKey)
      const first = await orAborted(abort, reader.peek())
      if (first === 'halted') return halted()
      if (first.done) throw new A2AError('invalid-agent-response', 'It ended without an answer.')
      const { name: agent } = callee.card
      const event = first.value
      if (event.type === 'message') {
        await progress.emit(event)
        return { agent, message: event.message }
      }
      const { id: taskId, contextId } = event.type === 'task' ? event.task : { ...event, id: event.taskId }
      return { link: { agent, taskId, contextId } }
    })
  }

  function follow({ link }: Extract<SendResult, { link: object }>, last: Message | undefined, within: EventSink) {
    return trying<FollowResult>(async () => {
      const callee = await orAborted(abort, remote.callee())
      if (callee === 'halted') return halted()
      const reader = remote.reader ?? remote.attach(callee, link.taskId)
      const { child } = remote
      for (;;) {
        const next = await orAborted(abort, reader.take())
        if (next === 'halted') return halted()
        if (!next.done) {
          child.take(next.value)
          await progress.emit(next.value)
          await relay(next.value, link, within.emit)
        }
        const state = child.state()
        const task = child.task()
        if (state && task && isEnded(state)) return { task }
        const isAsking = state !== undefined && isInterrupted(state) && (next.done || !isStale(next.value, last))
        if (isAsking && (state === 'input-required' || state === 'auth-required')) {
          const question = child.message()
          return { asks: state, ticket: questions.ticket(), ...(question && { question }) }
        }
        if (next.done) throw new A2AError('invalid-agent-response', 'It stopped telling before its task had ended.')
      }
    })
  }

  async function converse(): Promise<CallAnswer> {
    const { contextId: ours } = scope.task
    const callee = targetKey(plan.target, plan.targetName)
    const place = { owner: ownerOf(scope.messageEvent.principal), contextId: ours, callee }
    const opening = await runStep(scope, `${name}: key`, async (): Promise<SendKeys> => {
      const { contextId = calls.conversations.get(place), timeout } = options
      const deadline = earlier(scope.lineage.deadline, timeout === undefined ? undefined : clock.now() + timeout)
      return {
        messageId: newId(),
        idempotencyKey: newId(),
        ...(contextId !== undefined && contextId !== 'new' && { contextId }),
        ...(deadline !== undefined && { deadline }),
      }
    })
    if (opening.deadline !== undefined) abort.until(opening.deadline)
    sent = await runStep(scope, `${name}: send`, () => send(openingOf(plan, opening, scope.task.taskId), opening))
    let last: Message | undefined
    for (;;) {
      if ('failed' in sent) throw new CallFailed(sent.failed)
      const contextId = 'link' in sent ? sent.link.contextId : sent.message.contextId
      if (contextId) calls.conversations.set(place, contextId)
      if ('message' in sent) return answerIn(sent.agent, { message: sent.message })
      const begun: Extract<SendResult, { link: object }> = sent
      const asked = last
      const told = await runStep(scope, `${name}: follow`, (within) => follow(begun, asked, within))
      if ('failed' in told) throw new CallFailed({ ...told.failed, taskId: begun.link.taskId })
      if ('task' in told) return outcomeOf(begun.link.agent, told.task, scope.secrets)
      questions.saw(told.ticket)
      const { link } = begun
      const waiting = { name, link, scope, remote, abort, relay, progress }
      const answer: MessageEvent | undefined | 'halted' = await questions.inTurn(told.ticket, () =>
        told.asks === 'auth-required'
          ? awaitCredentials(told, waiting)
          : orAborted(abort, scope.ask(relay.question(told, link), { signal: abort.signal })),
      )
      if (answer === 'halted') throw new CallFailed(halted().failed)
      last = told.question
      // Otherwise the other agent goes on by itself.
      if (!answer) continue
      const { deadline } = opening
      const keys = { ...(await newKeys()), ...(deadline !== undefined && { deadline }) }
      sent = await runStep(scope, `${name}: send`, () => send(forwardAnswer(answer, link, keys, scope), keys))
    }
  }

  /** Whoever goes on with this turn elsewhere needs the other agent's task. */
  function isTakenOver(): boolean {
    const { reason } = stop
    return (
      abort.cause === 'stopped' && (reason === 'lease-lost' || (reason === 'shutdown' && settings.recovery.isJournaled))
    )
  }

  async function giveUp(): Promise<void> {
    try {
      if (!isTakenOver()) await remote.cancel(sent && 'link' in sent ? sent.link.taskId : undefined)
    } catch (error) {
      const { code } = error instanceof A2AError ? error : {}
      const logger = new TaskLogger(settings.logger, scope.task, scope.trace)
      logger.info({ agent: plan.targetName, code }, 'a call could not be canceled')
    } finally {
      remote.close()
    }
  }

  try {
    const answer = await converse()
    remote.close()
    return answer
  } catch (error) {
    if (abort.cause) void giveUp()
    else remote.close()
    if (abort.cause && abort.cause !== 'stopped' && !(error instanceof CallFailed)) {
      throw new CallFailed(halted().failed)
    }
    throw error
  } finally {
    abort.release()
    over.removeEventListener('abort', onOver)
  }
}

/** A task that has just been answered may still be told with the question. */
function isStale(event: StreamEvent, last: Message | undefined): boolean {
  if (event.type !== 'task' || !last) return false
  const { message } = event.task.status
  return message === undefined || message.messageId === last.messageId
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)
}

function openingOf({ parts, options }: CallPlan, { messageId, contextId }: SendKeys, parent: string): SendRequest {
  const { taskId, skill, metadata } = options
  const said = { ...metadata, ...(skill !== undefined && { skillId: skill }) }
  const message: Message = {
    messageId,
    role: 'user',
    parts,
    ...(contextId !== undefined && taskId === undefined && { contextId }),
    ...(taskId !== undefined && { taskId }),
    referenceTaskIds: [parent],
    metadata: said,
  }
  return { message }
}

/**
 * What our caller answered, for the other agent. Credentials that were taken out of it go down with it, as long as this
 * process has them; if it has not, the mark does, and the other agent asks again.
 */
function forwardAnswer(
  { message, ticket, sensitive }: MessageEvent,
  { taskId, contextId }: ChildTaskLink,
  { messageId }: SendKeys,
  { task, settings, secrets }: TurnScope,
): SendRequest {
  if (sensitive) throw answerLost()
  const inBand = settings.secretStore.get(ticket)?.inBand ?? []
  for (const { credentials } of inBand) secrets.add(credentials)
  const { [lineageExtension]: _, [credentialsExtension]: __, ...metadata } = message.metadata ?? {}
  const said = withTheirIds(message.parts, taskId)
  const parts = inBand.length === 0 ? said : said.filter((part) => !isRedactedCredentials(part))
  return {
    message: {
      messageId,
      role: 'user',
      parts: [...parts, ...inBand.map(credentialsPart)],
      taskId,
      ...(contextId !== undefined && contextId !== '' && { contextId }),
      referenceTaskIds: [task.taskId],
      metadata,
    },
  }
}
