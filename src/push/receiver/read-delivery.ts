import { toHex } from '../../base/hash.ts'
import { isObject } from '../../base/json.ts'
import { allClients } from '../../dialects/client-dialects.ts'
import type { ClientDialect, DialectName } from '../../dialects/dialect.ts'
import { orLeniently } from '../../dialects/read.ts'
import { BodyTooLarge, type Incoming } from '../../http/exchange.ts'
import { isJson, JsonError, parseJson } from '../../http/json.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Task } from '../../protocol/model.ts'
import { isEnded } from '../../protocol/states.ts'
import { pushHeaders } from '../request.ts'
import { digest } from '../signing/http-signature.ts'
import type { Sighting } from './delivery-memory.ts'
import type { Settings } from './options.ts'
import type { Place, PushDelivery } from './ordering.ts'
import { Refusal } from './refusal.ts'
import type { Registrations } from './registration-tokens.ts'
import { type ProofOptions, proofOf, registrationOf } from './signers.ts'

const wrappers = ['task', 'message', 'statusUpdate', 'artifactUpdate', 'status_update', 'artifact_update', 'msg']

/** Nobody asked. */
const nothing = { taskId: '' }

export interface Reading extends Pick<Settings, 'requires' | 'bodyLimit' | 'jsonDepth'>, ProofOptions {
  readonly registrations: Registrations
}

/** A delivery that is genuine, and what is needed to tell it once and in its place. */
export interface Received {
  readonly delivery: PushDelivery
  readonly place: Place
  /** Undefined if the same may have been told twice with a reason. */
  readonly sighting: Sighting | undefined
}

/** What costs least is checked first, and nothing is read of those who show no token where one is needed. */
export async function readDelivery(incoming: Incoming, options: Reading): Promise<Received> {
  if (incoming.method !== 'POST') throw new Refusal('method', 'Agents POST their notifications here.')
  if (!isJson(incoming.header('content-type'))) {
    throw new Refusal('content-type', 'The body must be JSON, with Content-Type: application/json.')
  }
  const { requires } = options
  const registered = await registrationOf(incoming, options.registrations)
  if (!registered && (requires === 'token' || requires === 'both')) throw noToken()
  const body = await readBytes(incoming, options.bodyLimit)
  const proof = options.signers.length === 0 ? undefined : await proofOf(incoming, body, options)
  if (!proof && (requires === 'signature' || requires === 'both')) {
    throw new Refusal('signature', 'The delivery is not signed: a JSON Web Token or a signature by RFC 9421 is needed.')
  }
  if (!proof && !registered) throw noToken()

  const { event: read, dialect } = await readPayload(parse(body, options.jsonDepth))
  const { registration } = registered ?? {}
  const { issuer } = proof ?? {}
  const generation = numberIn(incoming, pushHeaders.generation)
  const event = generation === undefined ? read : numbered(read, generation)
  const taskId = taskIdIn(event, incoming)
  const deliveryId = incoming.header(pushHeaders.deliveryId) ?? proof?.deliveryId
  const previous = numberIn(incoming, pushHeaders.previous)
  const attempt = numberIn(incoming, pushHeaders.attempt)
  const traceparent = incoming.header(pushHeaders.traceparent)
  const tracestate = incoming.header(pushHeaders.tracestate)
  // Nobody can use up the names of others.
  const scope = `${registration ?? ''} ${issuer ?? ''}`
  const hash = toHex(await digest('SHA-256', body))
  const id = deliveryId ?? (isRepeatable(event) ? undefined : hash)
  return {
    delivery: {
      event,
      dialect,
      ...(taskId !== undefined && { taskId }),
      ...(deliveryId !== undefined && { deliveryId }),
      ...(generation !== undefined && { generation }),
      ...(attempt !== undefined && { attempt }),
      ...(traceparent !== undefined && { traceparent }),
      ...(tracestate !== undefined && { tracestate }),
      ...(registration !== undefined && { registration }),
      ...(issuer !== undefined && { issuer }),
    },
    place: {
      lane: `${scope} ${taskId ?? ''}`,
      ...(generation !== undefined && { generation }),
      ...(previous !== undefined && { previous }),
    },
    sighting: id === undefined ? undefined : { id: `${scope} ${id}`, digest: hash, ...remembering(proof, options) },
  }
}

export interface Payload {
  readonly event: StreamEvent
  readonly dialect: DialectName
}

/** What a webhook is told, by the marks of the version that tells it: nothing else says which it is. */
export async function readPayload(body: unknown): Promise<Payload> {
  if (!isObject(body)) throw new Refusal('payload', `The payload must be a JSON object, not ${nameOf(body)}.`)
  try {
    return await decode(body)
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    throw new Refusal('payload', `The payload cannot be understood: ${error.message}`, { cause: error })
  }
}

type Wire = Readonly<Record<string, unknown>>

function nameOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`
}

async function decode(body: Wire): Promise<Payload> {
  if (typeof body.kind === 'string') return await decodeBy('v0.3', (dialect) => dialect.decodeEvent(body, nothing))
  if (wrappers.some((name) => isObject(body[name]))) return await decodeWrapped(body)
  if (typeof body.contextId === 'string' && isObject(body.status)) {
    return await decodeBy('v0.3', (dialect) => told(dialect.decodeResult.getTask({ kind: 'task', ...body }, nothing)))
  }
  if (isObject(body.status) || isObject(body.artifact)) return await decodeDraft(body)
  const expected = 'a task, or one of task, message, statusUpdate, artifactUpdate'
  throw new Refusal('payload', `The payload is none of A2A: expected ${expected}.`)
}

async function decodeBy(name: DialectName, read: (dialect: ClientDialect) => StreamEvent): Promise<Payload> {
  const known = allClients.find((each) => each.name === name)
  if (!known) throw new Error(`There is no dialect ${name}.`)
  return { event: await orLeniently(await known.load(), read), dialect: name }
}

/** 1.0, or 0.3 as its protocol buffers have it. */
async function decodeWrapped(body: Wire): Promise<Payload> {
  try {
    return await decodeBy('v1.0', (dialect) => dialect.decodeEvent(body, nothing))
  } catch (error) {
    const older = decodeBy('v0.3-proto', (dialect) => dialect.decodeEvent(body, nothing))
    return await older.catch(() => Promise.reject(error))
  }
}

function told(task: Task): StreamEvent {
  return { type: 'task', task, isLast: isEnded(task.status.state) }
}

/** 0.1 leaves the form to the agent. */
async function decodeDraft({ eventType: _, taskId, ...body }: Wire): Promise<Payload> {
  const wire = { ...(taskId !== undefined && { id: taskId }), ...body }
  const isTask = ['artifacts', 'history', 'sessionId'].some((name) => name in body)
  return await decodeBy('v0.1', (dialect) =>
    isTask ? told(dialect.decodeResult.getTask(wire, nothing)) : dialect.decodeEvent(wire, nothing),
  )
}

function noToken(): Refusal {
  return new Refusal('token', `The delivery has no ${pushHeaders.token} that was given out here.`)
}

async function readBytes(incoming: Incoming, limit: number): Promise<Uint8Array> {
  try {
    return await incoming.bytes(limit)
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) throw error
    throw new Refusal('too-large', `The body is longer than ${limit} bytes.`)
  }
}

function parse(body: Uint8Array, depth: number): unknown {
  try {
    return parseJson(body, { depth })
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new Refusal('payload', `The body is no JSON: ${error.message}.`)
  }
}

function numberIn(incoming: Incoming, name: string): number | undefined {
  const text = incoming.header(name)
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new Refusal('payload', `${name}: expected a whole number.`)
}

function numbered(event: StreamEvent, generation: number): StreamEvent {
  if (event.type === 'message') return event
  return event.type === 'task' ? { ...event, task: { ...event.task, generation } } : { ...event, generation }
}

/** What the head says of it must be what the payload says. */
function taskIdIn(event: StreamEvent, incoming: Incoming): string | undefined {
  const told = incoming.header(pushHeaders.taskId)
  const taskId = idOf(event)
  if (told !== undefined && taskId !== undefined && told !== encodeURI(taskId)) {
    throw new Refusal('payload', `${pushHeaders.taskId} names another task than the payload.`)
  }
  return taskId
}

function idOf(event: StreamEvent): string | undefined {
  switch (event.type) {
    case 'task':
      return event.task.id
    case 'message':
      return event.message.taskId
    case 'status':
    case 'artifact':
      return event.taskId
  }
}

/** Two equal chunks may both be meant; statuses have a moment, and messages an id. */
function isRepeatable(event: StreamEvent): boolean {
  return event.type === 'artifact'
}

function remembering(
  proof: { readonly signature: string; readonly signedAt: number } | undefined,
  { maxAge, clockSkew }: Reading,
): Pick<Sighting, 'proof' | 'mustUntil'> {
  if (!proof) return { mustUntil: 0 }
  return { proof: proof.signature, mustUntil: proof.signedAt + (maxAge + 2 * clockSkew) * 1000 }
}
