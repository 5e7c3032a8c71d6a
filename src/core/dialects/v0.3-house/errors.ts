import { defined, type JsonObject } from '../../base/json.ts'
import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { textOf } from '../../protocol/model.ts'
import type { RequestOf, SendRequest, StreamOperation } from '../../protocol/service.ts'
import type { CallerSoftware, HttpError, RequestFacts, ServerDialect, WireError } from '../dialect.ts'
import { decodeError as decodeStandardError, membersOf, readDetails, toError } from '../errors.ts'
import * as v0_3 from '../v0.3/errors.ts'

/** The errors that end a task, by the `reason` in the metadata of its last status or of the message there. */
const failureCodes: ReadonlyMap<unknown, ErrorCode> = new Map<unknown, ErrorCode>([
  ['INPUT_TIMEOUT', 'input-timeout'],
  ['TOOL_EXECUTION_FAILED', 'tool-failed'],
])

/**
 * Over REST, the house has one error, 500. Callers that are rejected, or whose request is wrong, get the HTTP status of the
 * error, since clients act on it, and a forbidden skill has the same code and text as over JSON-RPC.
 */
export function encodeHouseHttpError(error: A2AError): HttpError {
  const status = callerErrors.has(error.code) ? v0_3.encodeHttpError(error).status : 500
  const wire = encodeHouseError(error)
  return { status, body: { error: { ...wire, code: error.code === 'forbidden' ? wire.code : status } } }
}

const callerErrors: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'parse-error',
  'invalid-request',
  'invalid-params',
  'method-not-found',
  'content-type-not-supported',
  'payload-too-large',
  'unauthenticated',
  'forbidden',
  'rate-limited',
  'unavailable',
])

/** The message takes precedence over the number, which may be one of the house or of 0.3. */
export function decodeError(error: WireError): A2AError {
  const { details, reason, ...facts } = membersOf(error.data)
  const code = details === undefined ? codeOf(reason, error.message) : undefined
  return code === undefined
    ? decodeStandardError(error)
    : toError(code, error.message, { metadata: toStrings(facts) }, error)
}

/** The error of a task that ended because a question was not answered in time, or because a tool failed. */
export function failureIn(event: StreamEvent, request: RequestOf<StreamOperation> | SendRequest): A2AError | undefined {
  const update = event.type === 'task' ? { ...event.task, taskId: event.task.id } : event
  if (!event.isLast || !('status' in update) || update.status.state !== 'failed') return undefined
  const { status, metadata } = update
  const facts = [metadata, status.message?.metadata].find((members) => failureCodes.has(members?.reason))
  const code = failureCodes.get(facts?.reason)
  if (code === undefined) return undefined
  const taskId = ('message' in request ? request.quirks?.alias : request.taskId) ?? update.taskId
  const timeoutSeconds = facts?.timeoutSeconds
  const text = status.message ? textOf(status.message) : ''
  return new A2AError(code, code === 'input-timeout' || text === '' ? (houseKinds[code]?.title ?? code) : text, {
    metadata: defined({ taskId, timeoutSeconds: timeoutSeconds === undefined ? undefined : `${timeoutSeconds}` }),
  })
}

/** Answers sends with that error, too. */
export function withFailures(encodeResult: ServerDialect['encodeResult']): ServerDialect['encodeResult'] {
  return {
    ...encodeResult,
    sendMessage(outcome, request) {
      const failure = outcome.type === 'task' ? failureIn({ ...outcome, isLast: true }, request) : undefined
      if (failure) throw failure
      return encodeResult.sendMessage(outcome, request)
    },
  }
}

/** Encodes an error with the numbers and messages of the house. */
export function encodeHouseError(error: A2AError): WireError {
  const wire = encodeError(error)
  const kind = houseKinds[error.code]
  if (kind === undefined) return { ...wire, code: movedCodes.get(wire.code) ?? wire.code }
  const { code, title, hasDetail } = kind
  const data = error.code === 'invalid-request' ? { data: { ...membersOf(wire.data), detail: error.message } } : {}
  return { ...wire, ...data, code, message: hasDetail ? `${title}: ${detailOf(error)}` : title }
}

/** Encodes an error as in 0.3, with its metadata and reason at the top of the data, where house clients look for them. */
export function encodeError(error: A2AError): WireError {
  const { code, message, data } = v0_3.encodeError(error)
  const members = { ...factsOf(error, data), ...defined({ details: data }) }
  return Object.keys(members).length === 0 ? { code, message } : { code, message, data: members }
}

/** Adds the method or the task that an error is about, where house clients look for them. */
export function addRequestFacts(wire: WireError, _caller: CallerSoftware, request?: RequestFacts): WireError {
  const { method, params } = request ?? {}
  const { id, taskId = id, message } = membersOf(params)
  const task = taskId ?? membersOf(message).taskId
  const facts: JsonObject = defined({
    method: wire.code === methodNotFound && method !== undefined ? method : undefined,
    taskId: isAboutTask(wire) && typeof task === 'string' ? task : undefined,
  })
  return Object.keys(facts).length === 0 ? wire : { ...wire, data: { ...facts, ...membersOf(wire.data) } }
}

const methodNotFound = -32601

function isAboutTask({ data }: WireError): boolean {
  return ['TASK_NOT_FOUND', 'TASK_EXPIRED', 'TASK_NOT_CANCELABLE'].includes(`${membersOf(data).reason}`)
}

/** Malformed and invalid requests have a sentence as their reason, other errors a name. */
function reasonOf({ code, message }: A2AError, data: unknown): string | undefined {
  if (code === 'invalid-request') return houseKinds[code]?.reason
  return code === 'invalid-params' ? message : readDetails(data).reason
}

function factsOf(error: A2AError, data: unknown): JsonObject {
  const reason = reasonOf(error, data)
  const { timeoutSeconds, ...facts } = error.metadata
  const [violation] = error.violations
  return {
    ...defined({ reason, field: violation?.field }),
    ...facts,
    ...defined({ timeoutSeconds: timeoutSeconds === undefined ? undefined : Number(timeoutSeconds) }),
  }
}

const houseKinds: Readonly<Partial<Record<ErrorCode, HouseKind>>> = {
  'invalid-request': { code: -32600, title: 'Invalid Request', reason: 'Must be valid JSON-RPC 2.0' },
  'input-timeout': { code: -32001, title: 'Input timeout', reason: 'INPUT_TIMEOUT' },
  'tool-failed': { code: -32002, title: 'Tool execution failed', reason: 'TOOL_EXECUTION_FAILED' },
  'context-not-found': { code: -32003, title: 'Context not found', reason: 'CONTEXT_NOT_FOUND' },
  // An example of the house has the number of the input timeout; its error table has this one.
  'task-not-found': { code: -32004, title: 'Task not found', reason: 'TASK_NOT_FOUND' },
  'task-expired': { code: -32004, title: 'Task expired', reason: 'TASK_EXPIRED' },
  forbidden: { code: -32603, title: 'Forbidden', reason: 'FORBIDDEN', hasDetail: true },
}

/** The errors of 0.3 whose numbers mean something else in the house. */
const movedCodes: ReadonlyMap<number, number> = new Map([
  [-32002, -32012],
  [-32003, -32013],
  [-32004, -32014],
])

interface HouseKind {
  /** The JSON-RPC error code of the house. Three of them have another meaning in 0.3. */
  readonly code: number
  /** The beginning of the message. */
  readonly title: string
  readonly reason: string
  /** Whether a detail follows the title. */
  readonly hasDetail?: boolean
}

/** For a forbidden skill, the message has a fixed text; the missing permissions are in the data. */
function detailOf({ message, metadata: { skill } }: A2AError): string {
  return skill === undefined ? message : `Insufficient permissions for skill '${skill}'`
}

function codeOf(reason: unknown, message: unknown): ErrorCode | undefined {
  const kinds = Object.entries(houseKinds) as [ErrorCode, HouseKind][]
  const [code] =
    kinds.find(([, kind]) => kind.reason === reason) ??
    kinds.find(([, { title }]) => String(message).startsWith(title)) ??
    []
  return code
}

function toStrings(facts: JsonObject): Record<string, string> {
  const scalars = Object.entries(facts).filter(([, fact]) => typeof fact === 'string' || typeof fact === 'number')
  return Object.fromEntries(scalars.map(([name, fact]) => [name, String(fact)]))
}
