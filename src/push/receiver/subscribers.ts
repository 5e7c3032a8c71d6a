import type { PushDelivery } from './ordering.ts'
import { Refusal } from './refusal.ts'

const over = { done: true, value: undefined } as const

/** Brings deliveries to those who iterate over them. */
export interface Subscribers {
  /** Resolves when somebody has taken it; rejects if nobody has in time. */
  give(delivery: PushDelivery, signal: AbortSignal): Promise<void>
  /** Each delivery goes to one of those who iterate. */
  events(): AsyncIterableIterator<PushDelivery>
  close(): void
}

export function createSubscribers(takeWithin: number): Subscribers {
  const offers = new Set<Offer>()
  const takers = new Set<Taker>()
  let isClosed = false

  function give(delivery: PushDelivery, signal: AbortSignal): Promise<void> {
    const [taker] = takers
    if (taker) {
      takers.delete(taker)
      taker({ done: false, value: delivery })
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        offers.delete(offer)
        clearTimeout(timer)
        signal.removeEventListener('abort', leave)
        settle()
      }
      const offer: Offer = { delivery, take: () => end(resolve), fail: (refusal) => end(() => reject(refusal)) }
      const leave = () => offer.fail(new Refusal('not-taken', 'The sender has gone.'))
      const expire = () => offer.fail(new Refusal('not-taken', 'Nobody has taken the event: try again later.'))
      const timer = setTimeout(expire, takeWithin)
      signal.addEventListener('abort', leave)
      offers.add(offer)
      if (isClosed) offer.fail(closing())
      else if (signal.aborted) leave()
    })
  }

  function events(): AsyncIterableIterator<PushDelivery> {
    const own = new Set<Taker>()
    let isOver = false
    const iterator: AsyncIterableIterator<PushDelivery> = {
      next() {
        if (isOver || isClosed) return Promise.resolve(over)
        const [offer] = offers
        if (offer) {
          offer.take()
          return Promise.resolve({ done: false, value: offer.delivery })
        }
        return new Promise((resolve) => {
          const taker: Taker = (result) => {
            own.delete(taker)
            resolve(result)
          }
          own.add(taker)
          takers.add(taker)
        })
      },
      // Not of a generator: that would wait for an event before it ends.
      return() {
        isOver = true
        for (const taker of own) {
          takers.delete(taker)
          taker(over)
        }
        return Promise.resolve(over)
      },
      [Symbol.asyncIterator]: () => iterator,
    }
    return iterator
  }

  return {
    give,
    events,
    close() {
      isClosed = true
      for (const offer of offers) offer.fail(closing())
      for (const taker of takers) taker(over)
      takers.clear()
    },
  }
}

interface Offer {
  readonly delivery: PushDelivery
  take(): void
  fail(refusal: Refusal): void
}

type Taker = (result: IteratorResult<PushDelivery, undefined>) => void

function closing(): Refusal {
  return new Refusal('closed', 'This receiver is closing.')
}
