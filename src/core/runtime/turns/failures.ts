import { CallFailed } from '../../agent/call-agent.ts'
import type { AgentEvents } from '../../agent/content.ts'
import { InvalidContent } from '../../agent/content.ts'
import { summarizeError } from '../../base/error-summary.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import { A2AError, isRejection, loggedError, StoreUnavailable, toStoredError } from '../../protocol/errors.ts'
import type { ReplyEvent, StatusEvent } from '../../protocol/events.ts'
import { clientTools, inputRequestIn } from '../../protocol/extensions/client-tools.ts'

const reason = 'INPUT_TIMEOUT'

/** Why a task fails, as its caller reads it. */
export interface TaskFailure {
  readonly text: string
  /** The same for programs. */
  readonly metadata?: JsonObject
}

/** The final status of a failed task. The metadata is in the event and in its message, which the task keeps. */
export function failedStatus(agentEvents: AgentEvents, { text, metadata }: TaskFailure): StatusEvent {
  const event = agentEvents.status('failed', text)
  return metadata ? withMetadata(event, metadata) : event
}

export interface FailureOptions {
  /** Whether the agent has not touched the task, so that an error may reject the message. */
  readonly mayReject: boolean
  /** Whether the caller has a task. */
  readonly isTask: boolean
}

export interface FailedTurn {
  readonly event: StatusEvent | ReplyEvent
  /** The caller gets it instead of an error that may hold secrets. */
  readonly reference: string
  /** Whether the agent rejected the message, which is no failure of the agent. */
  readonly isRejected: boolean
}

/**
 * The event for an error that the agent threw, and the reference by which the operator finds it in the log. An error that
 * rejects the message is the answer itself; if the caller has a task already, that fails, and a waiting sender gets the
 * error.
 */
export function failureEvent(
  agentEvents: AgentEvents,
  error: unknown,
  { mayReject, isTask }: FailureOptions,
): FailedTurn {
  const reference = crypto.randomUUID().slice(0, 8)
  const rejection = mayReject && isRejection(error) ? { error: toStoredError(error) } : undefined
  // An answer that cannot be sent is a defect of the agent, whatever the message was.
  const isRejected = rejection !== undefined && rejection.error.code !== 'invalid-agent-response'
  if (rejection && !isTask) return { event: { type: 'reply', ...rejection }, reference, isRejected }
  // Only an `A2AError` is written for callers; any other error may hold secrets.
  const text = textFor(error) ?? `The agent failed unexpectedly (reference ${reference}).`
  const metadata = reasonMetadata(error)
  const status = failedStatus(agentEvents, defined({ text, metadata }))
  const isUntouched = mayReject && !rejection && !metadata
  return {
    event: { ...status, ...rejection, ...defined({ isUntouched: isUntouched || undefined }) },
    reference,
    isRejected,
  }
}

/** What the log records of an error of the agent. By default without its message, which may contain what callers sent. */
export function errorFields(error: unknown, { errorMessages }: { readonly errorMessages: boolean }): object {
  // A call that another agent did not answer has the reason of the client, and no content.
  const isUnanswered = error instanceof CallFailed && error.state === undefined
  const isSafe = isUnanswered || error instanceof StoreUnavailable || error instanceof InvalidContent
  if (errorMessages || isSafe) return { error: loggedError(error) }
  return { error: summarizeError(error), hint: 'turns.errorMessages: true logs what the error says' }
}

/** A question that was not answered in time. Both members are milliseconds since 1970. */
export interface ExpiredQuestion {
  readonly since: number
  readonly expiresAt: number
}

/** The error that `turn.ask()` throws with `onTimeout: 'continue'`. */
export function inputTimeout(question: ExpiredQuestion): A2AError {
  const { timeoutSeconds } = metadataOf(question)
  const text = `The question was not answered by ${new Date(question.expiresAt).toISOString()}.`
  return new A2AError('input-timeout', text, { metadata: { timeoutSeconds: `${timeoutSeconds}` } })
}

/** The failure of a task whose question expired with `onTimeout: 'fail'`. */
export function unansweredFailure(question: ExpiredQuestion): TaskFailure {
  const expiresAt = new Date(question.expiresAt).toISOString()
  return {
    text: `The question was not answered by ${expiresAt}, so the task ends here.`,
    metadata: metadataOf(question),
  }
}

/** The status of a task that continues without an answer. It closes the request of the question. */
export function continuedStatus(
  agentEvents: AgentEvents,
  question: StatusEvent,
  expired: ExpiredQuestion,
): StatusEvent {
  const event = agentEvents.status('working', 'There was no answer in time: going on without one.')
  const requestId = inputRequestIn(question.status.message)?.requestId
  const metadata = metadataOf(expired)
  return withMetadata(
    event,
    requestId === undefined ? metadata : { ...metadata, [clientTools]: { expired: requestId } },
  )
}

/** The metadata of a task whose agent did not catch the error of `inputTimeout`, or one of a tool. */
function reasonMetadata(error: unknown): JsonObject | undefined {
  if (!(error instanceof A2AError)) return undefined
  if (error.code === 'tool-failed') return { reason: 'TOOL_EXECUTION_FAILED' }
  if (error.code !== 'input-timeout') return undefined
  const seconds = Number(error.metadata.timeoutSeconds)
  return defined({ reason, timeoutSeconds: Number.isFinite(seconds) ? seconds : undefined })
}

function withMetadata(event: StatusEvent, metadata: JsonObject): StatusEvent {
  const { status } = event
  const message = status.message && { ...status.message, metadata }
  return { ...event, status: { ...status, message }, metadata }
}

function textFor(error: unknown): string | undefined {
  if (error instanceof CallFailed) return error.callerText
  return error instanceof A2AError ? error.message : undefined
}

function metadataOf({ since, expiresAt }: ExpiredQuestion) {
  return { reason, timeoutSeconds: Math.max(0, Math.round(expiresAt - since) / 1000) }
}
