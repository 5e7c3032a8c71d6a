import { defined } from '../../base/json.ts'
import type { Exchange, Incoming, Outgoing } from '../../http/exchange.ts'
import { toFetch } from '../../http/fetch.ts'
import type { PushConfig } from '../../protocol/service.ts'
import { pushHeaders } from '../request.ts'
import { createDeliveryMemory, type DeliveryClaim } from './delivery-memory.ts'
import { type ReceiverOptions, requireAddress, withReceiverDefaults } from './options.ts'
import { createDeliveryOrder, type PushDelivery } from './ordering.ts'
import { readDelivery, type VerifiedDelivery } from './read-delivery.ts'
import { answerRefusal, DeliveryRefusal } from './refusal.ts'
import { createRegistrations } from './registration-tokens.ts'
import { createSignerKeys } from './signers.ts'
import { createSubscribers } from './subscribers.ts'

/** Challenges of this form cannot be mistaken for markup when they are repeated in a response. */
const challengeFormat = /^[\w.~+/=-]{1,512}$/

const accepted: Outgoing = { status: 204, headers: {} }

const neverAborted = new AbortController().signal

/** Receives webhook deliveries: verifies them, drops duplicates and restores their order. */
export interface Receiver extends AsyncIterable<PushDelivery> {
  /** A handler for any server that works with `Request` and `Response`. */
  readonly fetch: (request: Request) => Promise<Response>
  /** The same for `toListener(receiver.exchange)`, which serves Express and `node:http`. */
  readonly exchange: Exchange
  /** Returns the config for an agent: this URL and a new token. `client.send(…, { push: receiver })` calls it. */
  register(): Promise<PushConfig>
  /** Yields every event, unless `onEvent` is set. An event is acknowledged when an iterator takes it; one of them gets it. */
  events(): AsyncIterableIterator<PushDelivery>
  /** Stops accepting deliveries. Waiting ones are refused, so that agents retry them. */
  close(): void
}

/**
 * Creates a receiver of webhooks: it verifies deliveries of every protocol version and passes on each event once, in
 * order.
 *
 * @example
 * const receiver = createReceiver({
 *   url: 'https://me.example.com/hooks/a2a',
 *   onEvent: ({ event }) => console.log(event.type),
 * })
 * await client.send('Write the report', { push: receiver })
 */
export function createReceiver(options: ReceiverOptions): Receiver {
  const settings = withReceiverDefaults(options)
  const { onEvent, onRefused, memory = createDeliveryMemory({ now: settings.now }) } = options
  const { takeWithin, capacity } = settings
  const url = requireAddress(options.url)
  const registrations = createRegistrations(options)
  const signers = createSignerKeys(settings.signers, { ...options.keyCache, ...defined({ fetch: options.fetch }) })
  const readOptions = { ...settings, url, signers, registrations }
  const order = createDeliveryOrder({ wait: 1_000, perTask: 32, tasks: 10_000, ...options.order })
  const subscribers = createSubscribers(takeWithin)
  let inFlight = 0
  let isClosed = false

  /** Hands the delivery over in its order, and settles or releases its claim. */
  async function handle({ delivery, position, record }: VerifiedDelivery, signal: AbortSignal): Promise<void> {
    let isHandled = false
    try {
      const { release, ...gap } = await order.acquire(position, signal)
      try {
        await handOver({ ...delivery, ...gap }, signal)
        isHandled = true
        if (record) await memory.settle(record.id)
      } finally {
        release(isHandled)
      }
    } finally {
      if (!isHandled && record) await memory.release(record.id)
    }
  }

  async function handOver(delivery: PushDelivery, signal: AbortSignal): Promise<void> {
    if (!onEvent) return await subscribers.deliver(delivery, signal)
    try {
      await onEvent(delivery)
    } catch (cause) {
      throw new DeliveryRefusal('failed', 'The receiver failed to handle the event: try again later.', { cause })
    }
  }

  async function accept(incoming: Incoming): Promise<void> {
    if (inFlight >= capacity) throw new DeliveryRefusal('busy', 'Too many deliveries are in progress: try again later.')
    inFlight++
    let handling: Promise<void> | undefined
    try {
      const verified = await readDelivery(incoming, readOptions)
      const { record } = verified
      const claim = record ? await memory.claim(record) : 'new'
      if (claim === 'done') return
      if (claim !== 'new') throw claimRefusal(claim)
      // A sender without delivery ids does not retry: its event is handled even if it disconnects.
      handling = handle(verified, verified.delivery.deliveryId === undefined ? neverAborted : incoming.signal)
      // A slow callback continues after the response and still counts.
      handling.finally(() => inFlight--).catch(() => {})
      await withTimeout(handling, takeWithin + (options.order?.wait ?? 1_000))
    } finally {
      if (!handling) inFlight--
    }
  }

  async function exchange(incoming: Incoming): Promise<Outgoing> {
    try {
      const challenged = settings.answersChallenges ? answerChallenge(incoming) : undefined
      if (challenged) return challenged
      if (isClosed) throw new DeliveryRefusal('closed', 'This receiver is closing.')
      await accept(incoming)
      return accepted
    } catch (error) {
      if (!(error instanceof DeliveryRefusal)) throw error
      const { reason, message, cause } = error
      onRefused?.(defined({ reason, message, cause }))
      return answerRefusal(error)
    }
  }

  function events(): AsyncIterableIterator<PushDelivery> {
    if (onEvent) throw new TypeError('createReceiver(): events cannot be iterated, because `onEvent` receives them')
    return subscribers.events()
  }

  return {
    exchange,
    fetch: toFetch(exchange),
    register: async () => ({ url, token: await registrations.newToken() }),
    events,
    [Symbol.asyncIterator]: events,
    close() {
      isClosed = true
      order.close()
      subscribers.close()
    },
  }
}

function claimRefusal(claim: Exclude<DeliveryClaim, 'new' | 'done'>): DeliveryRefusal {
  switch (claim) {
    case 'pending':
      return new DeliveryRefusal('pending', 'This delivery is being handled: try again later.')
    case 'replayed':
      return new DeliveryRefusal('replayed', 'This attempt was received before: sign every attempt anew.')
    case 'conflict':
      return new DeliveryRefusal('conflict', 'A different body was received under this delivery id.')
  }
}

/** Bounds how long the sender waits; the handling itself continues. */
async function withTimeout(handling: Promise<void>, milliseconds: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const refusal = new DeliveryRefusal('pending', 'The event is still being handled: try again later.')
    timer = setTimeout(() => reject(refusal), milliseconds)
  })
  try {
    await Promise.race([handling, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Answers a sender that verifies the ownership of this URL before it sends deliveries, by repeating its challenge. The
 * challenge comes in a header or, as older guides describe, in the query.
 */
function answerChallenge(incoming: Incoming): Outgoing | undefined {
  const fromQuery = () => (incoming.method === 'GET' ? challengeInQuery(incoming) : undefined)
  const challenge = incoming.header(pushHeaders.challenge) ?? fromQuery()
  if (challenge === undefined || !challengeFormat.test(challenge)) return undefined
  return {
    status: 200,
    headers: { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' },
    body: challenge,
  }
}

function challengeInQuery({ query }: Incoming): string | undefined {
  const parameters = new URLSearchParams(query)
  return parameters.get('challenge') ?? parameters.get('validationToken') ?? undefined
}
