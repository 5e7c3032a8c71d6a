import { defined, isObject, type Json, type JsonObject } from '../../core/base/json.ts'
import type { TaskEvent } from '../../core/protocol/events.ts'
import { inputRequestIn, toolResult, toolUse } from '../../core/protocol/extensions/client-tools.ts'
import { credentialsPart, readAuthRequired } from '../../core/protocol/extensions/in-task-credentials.ts'
import { type Message, type Part, textOf } from '../../core/protocol/model.ts'
import { isInterrupted } from '../../core/protocol/states.ts'
import type { OperatorTask } from '../../core/tasks/operator-log.ts'
import type { Answer, Waiting } from '../contract.ts'
import { invalid } from '../failures.ts'

/** What a task waits for. Undefined if it waits for no answer. `events` are its last ones, which may have the deadline. */
export function waitingOf({ phase, status, changed }: OperatorTask, events: readonly TaskEvent[]): Waiting | undefined {
  if (phase === 'expired' || !isInterrupted(phase)) return undefined
  const message = status?.message
  const request = inputRequestIn(message) ?? {}
  const use = message && toolUseIn(message)
  const { requestId, prompt, sensitive } = request
  // A call of a tool has the schema of its arguments as well.
  const schema = use ? request.resultSchema : request.schema
  const pause = events.findLast((event) => event.type === 'journal' && event.entry.type === 'paused')
  const entry = pause?.type === 'journal' && pause.entry.type === 'paused' ? pause.entry : undefined
  const text = (message && textOf(message)) || (typeof prompt === 'string' ? prompt : '')
  return defined({
    kind: phase === 'auth-required' ? 'credentials' : kindOf(request, use),
    since: entry?.since ?? changed,
    deadline: entry?.expiresAt ?? expiryOf(request),
    text,
    sensitive: sensitive === true ? sensitive : undefined,
    requestId: typeof requestId === 'string' ? requestId : undefined,
    schema: isObject(schema) ? schema : undefined,
    tool: use ?? approvedCall(request),
    credentials: phase === 'auth-required' ? credentialsOf(message) : undefined,
  })
}

function credentialsOf(message: Message | undefined): Waiting['credentials'] {
  const { schemes, urls } = readAuthRequired({ message })
  return { schemes, urls }
}

/** A request that names a tool, and has neither a call nor a schema, is a request to approve the call. */
function kindOf({ tool, schema }: JsonObject, use: Waiting['tool']): Waiting['kind'] {
  if (use) return 'tool'
  return tool !== undefined && schema === undefined ? 'approval' : 'input'
}

/** The call that is to be approved. */
function approvedCall({ tool, toolArguments }: JsonObject): Waiting['tool'] {
  return typeof tool === 'string' && isObject(toolArguments) ? { name: tool, arguments: toolArguments } : undefined
}

function expiryOf({ expiresAt }: JsonObject): number | undefined {
  const time = typeof expiresAt === 'string' ? Date.parse(expiresAt) : Number.NaN
  return Number.isNaN(time) ? undefined : time
}

function toolUseIn({ parts }: Message): Waiting['tool'] {
  for (const part of parts) {
    if (part.mediaType !== toolUse || !('data' in part) || !isObject(part.data)) continue
    const { name, arguments: input = {} } = part.data
    if (typeof name === 'string') return { name, arguments: input }
  }
  return undefined
}

/** The parts of the message by which an operator answers a question. */
export function partsOfAnswer(answer: Answer): readonly Part[] {
  const { requestId, parts, value, decision, credentials, comment } = answer
  const remark: readonly Part[] = comment === undefined || comment === '' ? [] : [{ text: comment }]
  if (credentials !== undefined) {
    if ((parts ?? value ?? decision) !== undefined) throw invalid('credentials', 'expected no other answer beside them')
    const { scheme, secret } = credentials
    return [credentialsPart(defined({ credentials: secret, scheme })), ...remark]
  }
  if (decision !== undefined) {
    const word = decision === 'approve' ? 'yes' : 'no'
    return requestId === undefined ? [{ text: word }, ...remark] : [resultPart(requestId, word), ...remark]
  }
  if (value !== undefined) {
    return requestId === undefined ? [{ data: value }, ...remark] : [resultPart(requestId, { value }), ...remark]
  }
  if (!parts || parts.length === 0)
    throw invalid('parts', 'expected an answer: parts, a value, a decision or credentials')
  return [...parts, ...remark]
}

function resultPart(toolUseId: string, result: Json): Part {
  return { data: { toolUseId, result }, mediaType: toolResult }
}
