import type { Exchange, Incoming, Outgoing } from '../../http/exchange.ts'
import { toFetch } from '../../http/fetch.ts'
import type { PushConfig } from '../../protocol/service.ts'
import { pushHeaders } from '../request.ts'
import { createDeliveryMemory } from './delivery-memory.ts'
import { type ReceiveOptions, requireAddress, settingsOf } from './options.ts'
import { createOrder, type PushDelivery } from './ordering.ts'
import { type Received, readDelivery } from './read-delivery.ts'
import { answerRefusal, Refusal } from './refusal.ts'
import { createRegistrations } from './registration-tokens.ts'
import { knownSigners } from './signers.ts'
import { createSubscribers } from './subscribers.ts'

/** What nobody could take for anything else than a random word. */
const word = /^[\w.~+/=-]{1,512}$/

const taken: Outgoing = { status: 204, headers: {} }

const never = new AbortController().signal

/** The other end of webhooks: takes what agents tell, once and in its order. */
export interface Receiver extends AsyncIterable<PushDelivery> {
  /** Mount it wherever `fetch` is spoken. */
  readonly fetch: (request: Request) => Promise<Response>
  /** The same for rims: `toListener(receiver.exchange)` is for Express and `node:http`. */
  readonly exchange: Exchange
  /** What an agent is asked to call: this address, with a token of its own. `client.send(…, { push: receiver })` does. */
  register(): Promise<PushConfig>
  /** Every event, if there is no `onEvent`. It is acknowledged when it is taken, and goes to one of those who iterate. */
  events(): AsyncIterableIterator<PushDelivery>
  /** Takes nothing more. What waits is refused, so that agents try again. */
  close(): void
}

export function receive(options: ReceiveOptions): Receiver {
  const settings = settingsOf(options)
  const { onEvent, onRefused, memory = createDeliveryMemory({ now: settings.now }) } = options
  const { takeWithin, capacity } = settings
  const url = requireAddress(options.url)
  const registrations = createRegistrations(options)
  const signers = knownSigners(settings.signers, {
    ...options.keyCache,
    ...(options.fetch && { fetch: options.fetch }),
  })
  const reading = { ...settings, url, signers, registrations }
  const order = createOrder({ wait: 1_000, perTask: 32, tasks: 10_000, ...options.order })
  const handOver = createSubscribers(takeWithin)
  let present = 0
  let isClosed = false

  /** Settles or releases the delivery, whatever becomes of it. */
  async function tell({ delivery, place, sighting }: Received, signal: AbortSignal): Promise<void> {
    let isTold = false
    try {
      const { done, ...standing } = await order.turn(place, signal)
      try {
        await take({ ...delivery, ...standing }, signal)
        isTold = true
        if (sighting) await memory.settle(sighting.id)
      } finally {
        done(isTold)
      }
    } finally {
      if (!isTold && sighting) await memory.release(sighting.id)
    }
  }

  async function take(delivery: PushDelivery, signal: AbortSignal): Promise<void> {
    if (!onEvent) return await handOver.give(delivery, signal)
    try {
      await onEvent(delivery)
    } catch (cause) {
      throw new Refusal('failed', 'The event could not be dealt with: try again later.', { cause })
    }
  }

  async function admit(incoming: Incoming): Promise<void> {
    if (present >= capacity) throw new Refusal('busy', 'Too many deliveries are here: try again later.')
    present++
    let isLeft = false
    const leave = () => {
      if (!isLeft) present--
      isLeft = true
    }
    try {
      const received = await readDelivery(incoming, reading)
      const { sighting } = received
      const claim = sighting ? await memory.claim(sighting) : 'new'
      if (claim === 'done') return
      if (claim !== 'new') throw claimed(claim)
      // Who sends without ids does not send again either: what it has sent is told, whether it waits for that or not.
      const telling = tell(received, received.delivery.deliveryId === undefined ? never : incoming.signal)
      // A callback that takes longer goes on: its delivery still counts as here.
      isLeft = true
      telling.finally(() => present--).catch(() => {})
      await inTime(telling, takeWithin + (options.order?.wait ?? 1_000))
    } finally {
      leave()
    }
  }

  async function exchange(incoming: Incoming): Promise<Outgoing> {
    try {
      const answer = settings.answersChallenges ? answerChallenge(incoming) : undefined
      if (answer) return answer
      if (isClosed) throw new Refusal('closed', 'This receiver is closing.')
      await admit(incoming)
      return taken
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const { reason, message, cause } = error
      onRefused?.({ reason, message, ...(cause !== undefined && { cause }) })
      return answerRefusal(error)
    }
  }

  function events(): AsyncIterableIterator<PushDelivery> {
    if (onEvent) throw new TypeError('receive(): with `onEvent`, events go there: nobody can iterate over them')
    return handOver.events()
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
      handOver.close()
    },
  }
}

function claimed(claim: 'pending' | 'replayed' | 'conflict'): Refusal {
  switch (claim) {
    case 'pending':
      return new Refusal('pending', 'This delivery is being dealt with: ask again later.')
    case 'replayed':
      return new Refusal('replayed', 'This attempt was seen before: sign every attempt anew.')
    case 'conflict':
      return new Refusal('conflict', 'Another body came under this delivery id before.')
  }
}

/** The sender must not wait for ever; what it waits for goes on. */
async function inTime(telling: Promise<void>, milliseconds: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined
  const late = new Promise<never>((_, reject) => {
    const refusal = new Refusal('pending', 'The event is still being dealt with: ask again later.')
    timer = setTimeout(() => reject(refusal), milliseconds)
  })
  try {
    await Promise.race([telling, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Answers a sender that asks, before it posts here, whether somebody here wants it to: by repeating its random word. It
 * comes in a header or, as older guides have it, in the query.
 */
function answerChallenge(incoming: Incoming): Outgoing | undefined {
  const asked = incoming.header(pushHeaders.challenge) ?? (incoming.method === 'GET' ? inQuery(incoming) : undefined)
  if (asked === undefined || !word.test(asked)) return undefined
  return {
    status: 200,
    headers: { 'content-type': 'text/plain', 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' },
    body: asked,
  }
}

function inQuery({ query }: Incoming): string | undefined {
  const given = new URLSearchParams(query)
  return given.get('challenge') ?? given.get('validationToken') ?? undefined
}
