import { toHex } from '../../base/hash.ts'
import { defined, isObject } from '../../base/json.ts'
import { type DeliveredEvent, decodeDelivery } from '../../dialects/deliveries.ts'
import { BodyTooLarge, type Incoming } from '../../http/exchange.ts'
import { isJson, JsonError, parseJson } from '../../http/json.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { pushHeaders } from '../request.ts'
import { digest } from '../signing/http-signature.ts'
import type { DeliveryRecord } from './delivery-memory.ts'
import type { ReceiverSettings } from './options.ts'
import type { DeliveryPosition, PushDelivery } from './ordering.ts'
import { DeliveryRefusal } from './refusal.ts'
import type { Registrations } from './registration-tokens.ts'
import { findRegistration, verifyProof } from './signers.ts'
import type { ProofOptions } from './verify-signature.ts'

export interface ReadDeliveryOptions
  extends Pick<ReceiverSettings, 'requires' | 'bodyLimit' | 'jsonDepth'>,
    ProofOptions {
  readonly registrations: Registrations
}

/** A verified delivery, with what is needed to handle it once and in order. */
export interface VerifiedDelivery {
  readonly delivery: PushDelivery
  readonly position: DeliveryPosition
  /** Undefined if an equal delivery may be a different one; see `isRepeatable`. */
  readonly record: DeliveryRecord | undefined
}

/** Runs the cheapest checks first. Without a required token, the body is not read. */
export async function readDelivery(incoming: Incoming, options: ReadDeliveryOptions): Promise<VerifiedDelivery> {
  if (incoming.method !== 'POST') throw new DeliveryRefusal('method', 'Deliveries must be sent with POST.')
  if (!isJson(incoming.header('content-type'))) {
    throw new DeliveryRefusal('content-type', 'The body must be JSON, with Content-Type: application/json.')
  }
  const { requires } = options
  const registered = await findRegistration(incoming, options.registrations)
  if (!registered && (requires === 'token' || requires === 'both')) throw noToken()
  const body = await readBytes(incoming, options.bodyLimit)
  const proof = options.signers.length === 0 ? undefined : await verifyProof(incoming, body, options)
  if (!proof && (requires === 'signature' || requires === 'both')) {
    throw new DeliveryRefusal(
      'signature',
      'The delivery is not signed: expected a JSON Web Token or an HTTP message signature (RFC 9421).',
    )
  }
  if (!proof && !registered) throw noToken()

  const { event: decoded, dialect } = await readPayload(parse(body, options.jsonDepth))
  const { registration } = registered ?? {}
  const { issuer } = proof ?? {}
  const generation = readNumber(incoming, pushHeaders.generation)
  const event = generation === undefined ? decoded : withGeneration(decoded, generation)
  const taskId = readTaskId(event, incoming)
  const deliveryId = incoming.header(pushHeaders.deliveryId) ?? proof?.deliveryId
  const previous = readNumber(incoming, pushHeaders.previous)
  const attempt = readNumber(incoming, pushHeaders.attempt)
  const traceparent = incoming.header(pushHeaders.traceparent)
  const tracestate = incoming.header(pushHeaders.tracestate)
  // Ids are scoped, so that a sender cannot use up the ids of another one.
  const scope = `${registration ?? ''} ${issuer ?? ''}`
  const hash = toHex(await digest('SHA-256', body))
  const id = deliveryId ?? (isRepeatable(event) ? undefined : hash)
  return {
    delivery: defined({
      event,
      dialect,
      taskId,
      deliveryId,
      generation,
      attempt,
      traceparent,
      tracestate,
      registration,
      issuer,
    }),
    position: defined({ queue: `${scope} ${taskId ?? ''}`, generation, previous }),
    record: id === undefined ? undefined : { id: `${scope} ${id}`, digest: hash, ...memoryOf(proof, options) },
  }
}

/** Decodes a payload. Its shape determines the protocol version, as no header does. */
export async function readPayload(body: unknown): Promise<DeliveredEvent> {
  if (!isObject(body)) throw new DeliveryRefusal('payload', `The payload must be a JSON object, not ${describe(body)}.`)
  let decoded: DeliveredEvent | undefined
  try {
    decoded = await decodeDelivery(body)
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    throw new DeliveryRefusal('payload', `The payload cannot be read: ${error.message}`, { cause: error })
  }
  if (decoded) return decoded
  const expected = 'a task, or one of task, message, statusUpdate, artifactUpdate'
  throw new DeliveryRefusal('payload', `The payload is not an A2A event: expected ${expected}.`)
}

function describe(value: unknown): string {
  return Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`
}

function noToken(): DeliveryRefusal {
  return new DeliveryRefusal('token', `The delivery has no ${pushHeaders.token} of this receiver.`)
}

async function readBytes(incoming: Incoming, limit: number): Promise<Uint8Array> {
  try {
    return await incoming.bytes(limit)
  } catch (error) {
    if (!(error instanceof BodyTooLarge)) throw error
    throw new DeliveryRefusal('too-large', `The body is larger than ${limit} bytes.`)
  }
}

function parse(body: Uint8Array, depth: number): unknown {
  try {
    return parseJson(body, { depth })
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    throw new DeliveryRefusal('payload', `The body is not JSON: ${error.message}.`)
  }
}

function readNumber(incoming: Incoming, name: string): number | undefined {
  const text = incoming.header(name)
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new DeliveryRefusal('payload', `${name}: expected a whole number.`)
}

function withGeneration(event: StreamEvent, generation: number): StreamEvent {
  if (event.type === 'message') return event
  return event.type === 'task' ? { ...event, task: { ...event.task, generation } } : { ...event, generation }
}

/** The task id of the payload, which the header must match. */
function readTaskId(event: StreamEvent, incoming: Incoming): string | undefined {
  const header = incoming.header(pushHeaders.taskId)
  const taskId = idOf(event)
  if (header !== undefined && taskId !== undefined && header !== encodeURI(taskId)) {
    throw new DeliveryRefusal('payload', `${pushHeaders.taskId} differs from the task id of the payload.`)
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

/** Equal artifact chunks may be different events; statuses have a timestamp, and messages an id. */
function isRepeatable(event: StreamEvent): boolean {
  return event.type === 'artifact'
}

function memoryOf(
  proof: { readonly signature: string; readonly signedAt: number } | undefined,
  { maxAge, clockSkew }: ReadDeliveryOptions,
): Pick<DeliveryRecord, 'proof' | 'mustUntil'> {
  if (!proof) return { mustUntil: 0 }
  return { proof: proof.signature, mustUntil: proof.signedAt + (maxAge + 2 * clockSkew) * 1000 }
}
