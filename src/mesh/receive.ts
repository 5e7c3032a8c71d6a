import { toHex } from '../base/hash.ts'
import { consoleLogger } from '../base/logger.ts'
import type { Trace } from '../base/trace-context.ts'
import type { MeshEnvelope } from './envelope.ts'
import {
  type Draft,
  defaultMaxBytes,
  type Origin,
  type ReadEnvelope,
  type Reading,
  type WriteEnvelope,
} from './envelope-codec.ts'
import { httpStatusOf, MeshError, type StandardCode } from './errors.ts'
import type { MeshCall, MeshPeerOptions } from './options.ts'
import { createRateLimit } from './rate-limit.ts'
import { createReplayCache, type Sighting } from './replay-cache.ts'
import { type Authenticate, checkFresh, type MeshIdentity, memory } from './signature.ts'

const forever = new AbortController().signal

export interface ReceiveOptions
  extends Pick<
    MeshPeerOptions,
    'authorize' | 'onMessage' | 'rateLimit' | 'replayCache' | 'maxBytes' | 'maxInFlight' | 'documentationUrl' | 'logger'
  > {
  /** The names that are ours. */
  readonly names: readonly string[]
  readonly read: ReadEnvelope
  readonly write: WriteEnvelope
  readonly authenticate: Authenticate
  readonly dispatch: (call: MeshCall) => Promise<Draft | undefined>
  readonly now: () => number
}

export interface MeshReply {
  /** As HTTP says it. */
  readonly status: number
  /** An envelope, or `{"error":…}` if none can be addressed; nothing for messages that nobody answers. */
  readonly text?: string
  /** Seconds. */
  readonly retryAfter?: number
}

/** Takes a message through all steps, in their order: the first that fails decides the answer. */
export interface Receive {
  (bytes: Uint8Array, trace?: Trace): Promise<MeshReply>
  reading(reading: Reading, bytes: Uint8Array, trace?: Trace): Promise<MeshReply>
}

export function createReceive(options: ReceiveOptions): Receive {
  const { names, read, write, authenticate, dispatch, now, logger = consoleLogger } = options
  const { maxBytes = defaultMaxBytes, maxInFlight = 1024, rateLimit = createRateLimit({ perSecond: 1000 }) } = options
  const { replayCache = createReplayCache({ now }) } = options
  const working = new Map<string, Promise<MeshReply>>()

  async function process(envelope: MeshEnvelope, bytes: Uint8Array, trace: Trace | undefined): Promise<MeshReply> {
    checkFresh(envelope.timestamp, now())
    if (!names.includes(envelope.recipient_id)) {
      throw new MeshError('NOT_FOUND', 'The recipient is not here.', { details: { what: 'recipient' } })
    }
    const identity = await authenticate(envelope)
    const sighting = await sightingOf(envelope, identity, bytes, now())
    const claim = await replayCache.claim(sighting)
    const from = envelope.sender_id
    if (claim === 'new') return await workOn(sighting, { envelope, from, identity, signal: forever, trace })
    if (claim === 'replay') throw replayed()
    if (claim !== 'pending') return 'reply' in claim ? JSON.parse(claim.reply) : forgetful(claim.retryAfter)
    const other = working.get(envelope.message_id)
    if (other) return await other
    throw new MeshError('SERVICE_UNAVAILABLE', 'This message is being worked on.', { retryAfter: 1 })
  }

  async function workOn(sighting: Sighting, call: MeshCall): Promise<MeshReply> {
    const { messageId } = sighting
    try {
      await admit(call)
    } catch (error) {
      await replayCache.release(sighting)
      throw error
    }
    const work = answer(call)
    working.set(messageId, work)
    try {
      const reply = await work
      await replayCache.settle(messageId, JSON.stringify(reply))
      return reply
    } finally {
      working.delete(messageId)
    }
  }

  async function admit(call: MeshCall): Promise<void> {
    if (options.authorize && !(await options.authorize(call))) {
      throw new MeshError('FORBIDDEN', 'You may not do this.')
    }
    const wait = await rateLimit.take(call.from)
    if (wait > 0) {
      const message = `Too many messages: try again in ${wait} seconds.`
      throw new MeshError('RATE_LIMIT_EXCEEDED', message, { retryAfter: wait })
    }
    if (working.size >= maxInFlight) {
      throw new MeshError('SERVICE_UNAVAILABLE', 'Too many messages are being worked on.', { retryAfter: 1 })
    }
  }

  async function answer(call: MeshCall): Promise<MeshReply> {
    const { message_id, sender_id, recipient_id, message_type } = call.envelope
    try {
      await options.onMessage?.(call)
      const draft = await dispatch(call)
      // Who was asked answers, also under its second name.
      if (!draft) return { status: 202 }
      const { text } = await write({ sender_id: recipient_id, ...draft })
      if (isLonger(text, maxBytes)) throw new RangeError(`The answer is longer than ${maxBytes} bytes.`)
      return { status: 200, text }
    } catch (error) {
      return await refuse(error, { messageId: message_id, senderId: sender_id, type: message_type }, recipient_id)
    }
  }

  async function refuse(thrown: unknown, origin: Origin | undefined, as?: string): Promise<MeshReply> {
    // What went wrong between us and a third agent is nothing for the caller.
    const isOurs = thrown instanceof MeshError && thrown.asked === undefined
    const error = isOurs ? thrown : new MeshError('INTERNAL_ERROR', 'Something broke here.')
    if (error !== thrown) logger.error({ error: thrown }, 'A message of the mesh could not be answered')
    const status = httpStatusOf(error.code)
    const { code, message, details, retryAfter } = error
    const more = retryAfter === undefined ? {} : { retryAfter }
    if (unanswered.has(origin?.type)) return { status, ...more }
    const url = error.documentationUrl ?? options.documentationUrl?.(code as StandardCode)
    const payload = {
      error: {
        code,
        message,
        ...(details && { details }),
        ...(retryAfter !== undefined && { retry_after: retryAfter }),
        ...(url !== undefined && { documentation_url: url }),
      },
    }
    if (!origin) return { status, text: JSON.stringify(payload), ...more }
    const { messageId, senderId } = origin
    const draft = { message_type: 'error', recipient_id: senderId, correlation_id: messageId, payload } as const
    return { status, text: (await write({ ...draft, ...(as !== undefined && { sender_id: as }) })).text, ...more }
  }

  async function reading(reading: Reading, bytes: Uint8Array, trace?: Trace): Promise<MeshReply> {
    const { envelope } = reading
    if (!envelope) return await refuse(reading.error, reading.origin)
    try {
      return await process(envelope, bytes, trace)
    } catch (error) {
      const { message_id, sender_id, message_type } = envelope
      return await refuse(error, { messageId: message_id, senderId: sender_id, type: message_type })
    }
  }

  const receive = async (bytes: Uint8Array, trace?: Trace) => await reading(read(bytes), bytes, trace)
  return Object.assign(receive, { reading })
}

/** A signature was checked just now and covers everything, so it also tells whether two messages are the same. */
async function sightingOf(
  { message_id, sender_id, auth }: MeshEnvelope,
  identity: MeshIdentity | undefined,
  bytes: Uint8Array,
  now: number,
): Promise<Sighting> {
  const seen = { messageId: message_id, until: now + memory }
  if (identity && auth) {
    return { ...seen, nonce: `${sender_id} ${identity.fingerprint} ${auth.nonce}`, digest: auth.signature }
  }
  const digest = await crypto.subtle.digest('SHA-256', Uint8Array.from(bytes))
  return { ...seen, digest: toHex(new Uint8Array(digest)) }
}

function replayed(): MeshError {
  return new MeshError('AUTHENTICATION_FAILED', 'This message, or its nonce, was seen before: send a new one.', {
    details: { reason: 'REPLAY' },
  })
}

/** To forget what was seen would let it in again. */
function forgetful(retryAfter: number): never {
  const message = 'Too many messages were received lately: try again later.'
  throw new MeshError('SERVICE_UNAVAILABLE', message, { retryAfter })
}

/** In bytes; most texts are too short to need counting. */
function isLonger(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && new TextEncoder().encode(text).length > maxBytes
}

/** Never answered by an error, so that no two peers complain to each other for ever. */
const unanswered: ReadonlySet<unknown> = new Set([
  'error',
  'goodbye',
  'response',
  'handshake_ack',
  'agent_announcement',
])
