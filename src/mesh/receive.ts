import { summarizeError } from '../core/base/error-summary.ts'
import { toHex } from '../core/base/hash.ts'
import { defined } from '../core/base/json.ts'
import { consoleLogger } from '../core/base/logger.ts'
import { SlotMap } from '../core/base/slot-map.ts'
import type { Trace } from '../core/base/trace-context.ts'
import { loggedError, StoreUnavailable } from '../core/protocol/errors.ts'
import type { MeshEnvelope } from './envelope.ts'
import {
  defaultMaxBytes,
  type EnvelopeDraft,
  type MessageOrigin,
  type ReadEnvelope,
  type ReadResult,
  type WriteEnvelope,
} from './envelope-codec.ts'
import { httpStatusOf, MeshError, type StandardCode } from './errors.ts'
import type { MeshObserver } from './observer.ts'
import type { MeshCall, MeshPeerOptions } from './options.ts'
import { createRateLimit } from './rate-limit.ts'
import { createReplayCache, type SeenMessage } from './replay-cache.ts'
import { type Authenticate, checkFresh, type MeshIdentity, replayWindow } from './signature.ts'

const neverAborted = new AbortController().signal

export interface ReceiveOptions
  extends Pick<
    MeshPeerOptions,
    | 'authorize'
    | 'onMessage'
    | 'rateLimit'
    | 'replayCache'
    | 'maxBytes'
    | 'maxInFlight'
    | 'documentationUrl'
    | 'logger'
    | 'errorMessages'
  > {
  /** The agent ids of this peer. */
  readonly names: readonly string[]
  readonly read: ReadEnvelope
  readonly write: WriteEnvelope
  readonly authenticate: Authenticate
  readonly dispatch: (call: MeshCall) => Promise<EnvelopeDraft | undefined>
  readonly now: () => number
  readonly observer?: MeshObserver | undefined
}

export interface MeshReply {
  /** The HTTP status. */
  readonly status: number
  /** An envelope, or `{"error":…}` if none can be addressed. Absent for messages without an answer. */
  readonly text?: string
  /** Seconds. */
  readonly retryAfter?: number
}

/** Takes a message through all steps in order; the first step that fails determines the answer. */
export interface Receive {
  (bytes: Uint8Array, trace?: Trace): Promise<MeshReply>
  /** The same for bytes that were already read. */
  process(result: ReadResult, bytes: Uint8Array, trace?: Trace): Promise<MeshReply>
}

export function createReceive(options: ReceiveOptions): Receive {
  const { names, read, write, authenticate, dispatch, now, logger = consoleLogger } = options
  const {
    maxBytes = defaultMaxBytes,
    maxInFlight = 1024,
    rateLimit = createRateLimit({ limit: 1000, window: 1 }),
  } = options
  const { replayCache = createReplayCache({ now }) } = options
  const inFlight = new SlotMap<string, Promise<MeshReply>>()

  async function handle(envelope: MeshEnvelope, bytes: Uint8Array, trace: Trace | undefined): Promise<MeshReply> {
    checkFresh(envelope.timestamp, now())
    if (!names.includes(envelope.recipient_id)) {
      throw new MeshError('NOT_FOUND', 'The recipient is not here.', { details: { what: 'recipient' } })
    }
    const identity = await authenticate(envelope)
    const message = toSeenMessage(envelope, identity, now()) ?? (await toUnsignedMessage(envelope, bytes, now()))
    const claim = await replayCache.claim(message)
    const from = envelope.sender_id
    if (claim === 'new') return await answerOnce(message, { envelope, from, identity, signal: neverAborted, trace })
    if (claim === 'replay') throw replayError()
    if (claim !== 'pending') return 'reply' in claim ? decodeReply(claim.reply) : throwCacheFull(claim.retryAfter)
    const pending = inFlight.get(envelope.message_id)
    if (pending) return await pending
    throw new MeshError('SERVICE_UNAVAILABLE', 'This message is already being handled.', { retryAfter: 1 })
  }

  async function answerOnce(message: SeenMessage, call: MeshCall): Promise<MeshReply> {
    const { messageId } = message
    try {
      await admit(call)
    } catch (error) {
      await replayCache.release(message)
      throw error
    }
    const pending = answer(call)
    inFlight.set(messageId, pending)
    try {
      const reply = await pending
      await replayCache.settle(messageId, encodeReply(reply))
      return reply
    } finally {
      inFlight.delete(messageId)
    }
  }

  async function admit(call: MeshCall): Promise<void> {
    if (options.authorize && !(await options.authorize(call))) {
      throw new MeshError('FORBIDDEN', 'You may not send this message.')
    }
    const wait = await rateLimit.take(call.from)
    if (wait > 0) {
      const message = `Too many messages: try again in ${wait} seconds.`
      const { limit, window } = rateLimit.rule ?? {}
      const details = defined({
        limit,
        window: window === undefined ? undefined : `${window} ${window === 1 ? 'second' : 'seconds'}`,
        reset_at: new Date(now() + wait * 1000).toISOString(),
      })
      throw new MeshError('RATE_LIMIT_EXCEEDED', message, { retryAfter: wait, details })
    }
    if (inFlight.size >= maxInFlight) {
      throw new MeshError('SERVICE_UNAVAILABLE', 'Too many messages are being handled.', { retryAfter: 1 })
    }
  }

  async function answer(call: MeshCall): Promise<MeshReply> {
    const { message_id, sender_id, recipient_id, message_type } = call.envelope
    try {
      options.observer?.seen(sender_id)
      await options.onMessage?.(call)
      const draft = await dispatch(call)
      // The answer comes from the id that was addressed, which may be `registry`.
      if (!draft) return { status: 202 }
      const { text } = await write({ sender_id: recipient_id, ...draft })
      if (exceedsBytes(text, maxBytes)) throw new RangeError(`The answer is longer than ${maxBytes} bytes.`)
      return { status: 200, text }
    } catch (error) {
      return await reject(error, { messageId: message_id, senderId: sender_id, type: message_type }, recipient_id)
    }
  }

  /** What the log records of an error of the author's code. Its message may contain what the peer sent. */
  function describe(thrown: unknown): unknown {
    return thrown instanceof StoreUnavailable || options.errorMessages ? loggedError(thrown) : summarizeError(thrown)
  }

  async function reject(thrown: unknown, origin: MessageOrigin | undefined, senderId?: string): Promise<MeshReply> {
    // Errors from calling another peer must not reach this caller.
    const isPublic = thrown instanceof MeshError && thrown.peer === undefined
    const error = isPublic ? thrown : privateError(thrown)
    if (error !== thrown) logger.error({ error: describe(thrown) }, 'A mesh message could not be answered')
    const status = httpStatusOf(error.code)
    const { code, message, retryAfter } = error
    if (origin) options.observer?.failed(origin.messageId, `${code}: ${message}`)
    const retry = retryAfter === undefined ? {} : { retryAfter }
    if (neverAnswered.has(origin?.type)) return { status, ...retry }
    const payload = errorPayload(error, error.documentationUrl ?? options.documentationUrl?.(code as StandardCode))
    if (!origin) return { status, text: JSON.stringify(payload), ...retry }
    const { messageId, senderId: recipientId } = origin
    const draft = { message_type: 'error', recipient_id: recipientId, correlation_id: messageId, payload } as const
    const { text } = await write({ ...draft, ...defined({ sender_id: senderId }) })
    return { status, text, ...retry }
  }

  async function process(result: ReadResult, bytes: Uint8Array, trace?: Trace): Promise<MeshReply> {
    const { envelope } = result
    if (!envelope) return await reject(result.error, result.origin)
    try {
      return await handle(envelope, bytes, trace)
    } catch (error) {
      const { message_id, sender_id, message_type } = envelope
      return await reject(error, { messageId: message_id, senderId: sender_id, type: message_type })
    }
  }

  const receive = async (bytes: Uint8Array, trace?: Trace) => await process(read(bytes), bytes, trace)
  return Object.assign(receive, { process })
}

/** The status and the time to wait in the first line, then the text as it is: as a JSON string it would be copied. */
function encodeReply({ status, text = '', retryAfter }: MeshReply): string {
  return `${status} ${retryAfter ?? ''}\n${text}`
}

function decodeReply(reply: string): MeshReply {
  const end = reply.indexOf('\n')
  const [status, retryAfter] = reply.slice(0, end).split(' ')
  const text = reply.slice(end + 1)
  return defined({
    status: Number(status),
    text: text !== '' ? text : undefined,
    retryAfter: retryAfter !== '' ? Number(retryAfter) : undefined,
  })
}

function errorPayload({ code, message, details, retryAfter }: MeshError, url: string | undefined) {
  return {
    error: defined({ code, message, details, retry_after: retryAfter, documentation_url: url }),
  }
}

/** A verified signature covers the entire message, so it also identifies it. */
function toSeenMessage(
  { message_id, sender_id, auth }: MeshEnvelope,
  identity: MeshIdentity | undefined,
  now: number,
): SeenMessage | undefined {
  if (!identity || !auth) return undefined
  const nonce = `${sender_id} ${identity.fingerprint} ${auth.nonce}`
  return { messageId: message_id, until: now + replayWindow, nonce, digest: auth.signature }
}

async function toUnsignedMessage({ message_id }: MeshEnvelope, bytes: Uint8Array, now: number): Promise<SeenMessage> {
  const digest = await crypto.subtle.digest('SHA-256', Uint8Array.from(bytes))
  return { messageId: message_id, until: now + replayWindow, digest: toHex(new Uint8Array(digest)) }
}

function replayError(): MeshError {
  return new MeshError('AUTHENTICATION_FAILED', 'This message or its nonce was used before: send a new one.', {
    details: { reason: 'REPLAY' },
  })
}

/** Evicting a message would allow its replay. */
function throwCacheFull(retryAfter: number): never {
  const message = 'Too many messages were received lately: try again later.'
  throw new MeshError('SERVICE_UNAVAILABLE', message, { retryAfter })
}

/** Most texts are too short to need encoding. */
function exceedsBytes(text: string, maxBytes: number): boolean {
  return text.length * 3 > maxBytes && new TextEncoder().encode(text).length > maxBytes
}

/** Never answered with an error, so that two peers cannot send each other errors forever. */
const neverAnswered: ReadonlySet<unknown> = new Set([
  'error',
  'goodbye',
  'response',
  'handshake_ack',
  'agent_announcement',
])

/** What the caller learns about an error that is not written for it. */
function privateError(thrown: unknown): MeshError {
  if (!(thrown instanceof StoreUnavailable)) {
    return new MeshError('INTERNAL_ERROR', 'The agent failed to handle this message.')
  }
  const { message, retryAfter = 1 } = thrown
  return new MeshError('SERVICE_UNAVAILABLE', message, { retryAfter })
}
