import type { JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { HttpError, WireError } from '../dialect.ts'
import { decodeError as decodeNumbered, membersOf, readDetails, toError } from '../errors.ts'
import * as v0_3 from '../v0.3/errors.ts'

/** Why a task failed whose caller did not answer in time: in the metadata of its last status, or of the message there. */
const reason = 'INPUT_TIMEOUT'

/** Over REST the house has one error. Who may not call hears so from HTTP itself, on which clients act. */
export function encodeLegacyHttpError(error: A2AError): HttpError {
  const isUnadmitted = ['unauthenticated', 'forbidden', 'rate-limited', 'unavailable'].includes(error.code)
  const status = isUnadmitted ? v0_3.encodeHttpError(error).status : 500
  return { status, body: { error: { ...encodeLegacyError(error), code: status } } }
}

/** The words tell more than the number, which may be of the house or of 0.3. */
export function decodeError(error: WireError): A2AError {
  const { details, reason, ...facts } = membersOf(error.data)
  const code = details === undefined ? codeOf(reason, error.message) : undefined
  return code === undefined ? decodeNumbered(error) : toError(code, error.message, { metadata: textsOf(facts) }, error)
}

/** The house may tell this failure as an error, too. */
export function inputTimeoutIn(event: StreamEvent): A2AError | undefined {
  const told = event.type === 'task' ? { ...event.task, taskId: event.task.id } : event
  if (!event.isLast || !('status' in told) || told.status.state !== 'failed') return undefined
  const { taskId, status, metadata } = told
  const facts = [metadata, status.message?.metadata].find((each) => isObject(each) && each.reason === reason)
  if (facts === undefined) return undefined
  const { timeoutSeconds } = facts
  return new A2AError('input-timeout', 'Input timeout', {
    metadata: { taskId, ...(timeoutSeconds !== undefined && { timeoutSeconds: `${timeoutSeconds}` }) },
  })
}

/** By the numbers and words of the house. */
export function encodeLegacyError(error: A2AError): WireError {
  const told = encodeError(error)
  const kind = houseKinds[error.code]
  if (kind === undefined) return told
  const { code, words, isOpen } = kind
  return { ...told, code, message: isOpen ? `${words}: ${messageOf(error)}` : words }
}

/** As in 0.3, with the facts where programs of the house look for them. */
export function encodeError(error: A2AError): WireError {
  const { code, message, data } = v0_3.encodeError(error)
  return data === undefined
    ? { code, message }
    : { code, message, data: { ...factsOf(error, data), ...membersOf(data) } }
}

function factsOf({ metadata }: A2AError, data: unknown): JsonObject {
  const { reason } = readDetails(membersOf(data).details)
  const { timeoutSeconds, ...facts } = metadata
  return {
    ...(reason !== undefined && { reason }),
    ...facts,
    ...(timeoutSeconds !== undefined && { timeoutSeconds: Number(timeoutSeconds) }),
  }
}

const houseKinds: Readonly<Partial<Record<ErrorCode, HouseKind>>> = {
  'input-timeout': { code: -32001, words: 'Input timeout', reason: 'INPUT_TIMEOUT' },
  'tool-failed': { code: -32002, words: 'Tool execution failed', reason: 'TOOL_EXECUTION_FAILED' },
  'context-not-found': { code: -32003, words: 'Context not found', reason: 'CONTEXT_NOT_FOUND' },
  // The table of the house has another number for it, its example this one.
  'task-not-found': { code: -32001, words: 'Task not found', reason: 'TASK_NOT_FOUND' },
  'task-expired': { code: -32001, words: 'Task expired', reason: 'TASK_EXPIRED' },
  forbidden: { code: -32603, words: 'Forbidden', reason: 'FORBIDDEN', isOpen: true },
}

interface HouseKind {
  /** Of JSON-RPC, in the house. Three of these numbers mean something else in 0.3. */
  readonly code: number
  /** With which its message begins. */
  readonly words: string
  readonly reason: string
  /** More is said behind these words. */
  readonly isOpen?: boolean
}

/** Of a skill that the caller may not use, the house says no more than this; what is missing is in the data. */
function messageOf({ message, metadata: { skill } }: A2AError): string {
  return skill === undefined ? message : `Insufficient permissions for skill '${skill}'`
}

function codeOf(reason: unknown, message: unknown): ErrorCode | undefined {
  const kinds = Object.entries(houseKinds) as [ErrorCode, HouseKind][]
  const [code] =
    kinds.find(([, kind]) => kind.reason === reason) ??
    kinds.find(([, { words }]) => String(message).startsWith(words)) ??
    []
  return code
}

function textsOf(facts: JsonObject): Record<string, string> {
  const plain = Object.entries(facts).filter(([, fact]) => typeof fact === 'string' || typeof fact === 'number')
  return Object.fromEntries(plain.map(([name, fact]) => [name, String(fact)]))
}
