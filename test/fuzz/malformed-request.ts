import type { Random } from '../support/random.ts'
import * as awkward from './awkward-values.ts'

export interface RawRequest {
  readonly method: string
  readonly path: string
  readonly query: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array<ArrayBuffer>
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** A valid request with random faults. */
export function createMalformedRequest(random: Random, taskIds: readonly string[]): RawRequest {
  const { params, ...envelope } = validEnvelope(random, taskIds)
  // Most faults are in the parameters: a faulty envelope is refused before they are read.
  let faulty: Json = params ?? {}
  for (let faults = random.below(4); faults > 0; faults--) faulty = faultyValue(random, faulty)
  let request: Json = { ...envelope, params: faulty }
  if (random.chance(0.1)) request = wrongEnvelope(random, request)
  let text = JSON.stringify(request)
  if (random.chance(0.1)) text = faultyText(random, text)
  let body: Uint8Array<ArrayBuffer> = new TextEncoder().encode(text)
  if (random.chance(0.1)) body = faultyBytes(random, body)
  const headers: Record<string, string> = { 'content-type': 'application/json', 'a2a-version': '1.0' }
  if (random.chance(0.4)) faultyHeader(random, headers)
  return {
    method: random.chance(0.03) ? random.pick(awkward.verbs) : 'POST',
    path: random.chance(0.03) ? random.pick(awkward.paths) : '/',
    query: random.chance(0.05) ? random.pick(awkward.queries) : '',
    headers,
    body,
  }
}

function validEnvelope(random: Random, taskIds: readonly string[]): { [key: string]: Json } {
  const id = random.pick(taskIds)
  const message: Json = {
    messageId: random.pick(awkward.ids),
    role: 'ROLE_USER',
    parts: [{ text: 'two words' }, { data: { a: [1, 2] } }, { raw: 'aGk=', filename: 'f' }, { url: 'https://h' }],
    metadata: { note: 'x' },
  }
  if (random.chance(0.3)) message.taskId = id
  const configuration = { acceptedOutputModes: ['text/plain'], historyLength: 1, returnImmediately: random.chance(0.5) }
  const push = { taskId: id, id: 'p', url: 'https://h/hook' }
  const params: Record<string, Json> = {
    SendMessage: { message, configuration, metadata: {} },
    SendStreamingMessage: { message, configuration },
    GetTask: { id, historyLength: 2 },
    ListTasks: { pageSize: 2, contextId: 'c', status: 'TASK_STATE_COMPLETED', includeArtifacts: true, pageToken: '' },
    CancelTask: { id, metadata: {} },
    SubscribeToTask: { id },
    CreateTaskPushNotificationConfig: push,
    GetTaskPushNotificationConfig: push,
    ListTaskPushNotificationConfigs: push,
    DeleteTaskPushNotificationConfig: push,
    GetExtendedAgentCard: {},
  }
  const method = random.pick(Object.keys(params))
  return { jsonrpc: '2.0', id: random.below(1000), method, params: params[method] ?? {} }
}

function wrongEnvelope(random: Random, envelope: { [key: string]: Json }): Json {
  switch (random.below(5)) {
    case 0:
      return [envelope, envelope]
    case 1:
      return envelope.params ?? null
    case 2:
      return { ...envelope, method: random.pick(awkward.methods) }
    case 3:
      return { ...envelope, id: random.pick(awkward.values) as Json }
    default:
      return { ...envelope, jsonrpc: random.pick(awkward.values) as Json }
  }
}

/** Changes a value, removes a member, adds one, or nests one, at any depth. */
function faultyValue(random: Random, value: Json): Json {
  if (Array.isArray(value) && value.length > 0 && random.chance(0.8)) {
    const index = random.below(value.length)
    return value.with(index, faultyValue(random, value[index] ?? null))
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return random.pick(awkward.values) as Json
  const keys = Object.keys(value)
  const key = keys.length === 0 ? 'x' : random.pick(keys)
  switch (random.below(16)) {
    case 0:
      return random.pick(awkward.values) as Json
    case 1:
      return Object.fromEntries(Object.entries(value).filter(([name]) => name !== key))
    case 2:
      return { ...value, [random.pick(awkward.keys)]: random.pick(awkward.values) as Json }
    case 3:
      return { ...value, [key]: nested(value[key] ?? null, random.pick([1, 5, 60, 65, 500])) }
    default:
      return { ...value, [key]: faultyValue(random, value[key] ?? null) }
  }
}

function nested(value: Json, depth: number): Json {
  let outer = value
  for (let level = 0; level < depth; level++) outer = level % 2 ? [outer] : { a: outer }
  return outer
}

function faultyText(random: Random, text: string): string {
  const index = random.below(text.length)
  const brace = text.indexOf('{', index)
  switch (random.below(5)) {
    case 0: // a duplicate key
      return brace < 0 ? text : `${text.slice(0, brace + 1)}"id":1,"id":2,${text.slice(brace + 1)}`
    case 1: // a number outside the range of a double
      return text.replace(/\b\d+\b/, random.pick(awkward.numbers))
    case 2: // unclosed brackets
      return `${text.slice(0, index)}${random.pick(['[', '{"a":'])}`.padEnd(text.length + random.below(20_000), '[')
    case 3:
      return `${text.slice(0, index)}${random.pick(awkward.texts)}${text.slice(index)}`
    default: // a repeated piece
      return text.slice(0, index) + text.slice(random.below(index + 1))
  }
}

function faultyBytes(random: Random, body: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const index = random.below(body.length + 1)
  switch (random.below(4)) {
    case 0: {
      const flipped = body.slice()
      for (let flips = 1 + random.below(8); flips > 0; flips--) {
        const position = random.below(flipped.length)
        flipped[position] = (flipped[position] ?? 0) ^ (1 << random.below(8))
      }
      return flipped
    }
    case 1:
      return body.slice(0, index)
    case 2:
      return Uint8Array.from([
        ...body.subarray(0, index),
        ...random.bytes(1 + random.below(16)),
        ...body.subarray(index),
      ])
    default:
      return random.bytes(random.below(64))
  }
}

function faultyHeader(random: Random, headers: Record<string, string>): void {
  const [name, values] = random.pick(awkward.headers)
  const value = random.pick(values)
  if (value === undefined) delete headers[name]
  else headers[name] = value
}
