import type { AgentEvents } from '../../agent/turn-output.ts'
import type { JsonObject } from '../../base/json.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { StatusEvent } from '../../protocol/events.ts'
import { clientTools, inputRequestIn } from '../../protocol/extensions/client-tools.ts'

const reason = 'INPUT_TIMEOUT'

/** A question that nobody answered in time. Both are milliseconds since 1970. */
export interface ExpiredQuestion {
  readonly since: number
  readonly expiresAt: number
}

/** For the turn that asked and wants to go on. */
export function inputTimeout(late: ExpiredQuestion): A2AError {
  const { timeoutSeconds } = factsOf(late)
  const text = `The question was not answered by ${new Date(late.expiresAt).toISOString()}.`
  return new A2AError('input-timeout', text, { metadata: { timeoutSeconds: `${timeoutSeconds}` } })
}

/** Why a task must end. */
export interface TaskFailure {
  readonly text: string
  /** For programs. */
  readonly metadata?: JsonObject
}

/** For the caller of the task that ends by it. */
export function unansweredFailure(late: ExpiredQuestion): TaskFailure {
  const { expiresAt } = late
  const text = `The question was not answered by ${new Date(expiresAt).toISOString()}, so the task ends here.`
  return { text, metadata: factsOf(late) }
}

/** The end of a task. Who reads the task later finds the facts in the message, who follows it in the event. */
export function failedStatus(voice: AgentEvents, { text, metadata }: TaskFailure): StatusEvent {
  const event = voice.status('failed', text)
  return metadata ? withFacts(event, metadata) : event
}

/** The agent goes on without an answer, and takes none any more. */
export function continuedStatus(voice: AgentEvents, question: StatusEvent, late: ExpiredQuestion): StatusEvent {
  const event = voice.status('working', 'There was no answer in time: going on without one.')
  const requestId = inputRequestIn(question.status.message)?.requestId
  const facts = factsOf(late)
  return withFacts(event, requestId === undefined ? facts : { ...facts, [clientTools]: { expired: requestId } })
}

/** What an agent that did not go on has thrown. */
export function timeoutMetadata(error: unknown): JsonObject | undefined {
  if (!(error instanceof A2AError) || error.code !== 'input-timeout') return undefined
  const seconds = Number(error.metadata.timeoutSeconds)
  return { reason, ...(Number.isFinite(seconds) && { timeoutSeconds: seconds }) }
}

function factsOf({ since, expiresAt }: ExpiredQuestion) {
  return { reason, timeoutSeconds: Math.max(0, Math.round(expiresAt - since) / 1000) }
}

function withFacts(event: StatusEvent, metadata: JsonObject): StatusEvent {
  const { status } = event
  const message = status.message && { ...status.message, metadata }
  return { ...event, status: { ...status, message }, metadata }
}
