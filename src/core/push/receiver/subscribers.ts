import type { PushDelivery } from './ordering.ts'
import { DeliveryRefusal } from './refusal.ts'

const end = { done: true, value: undefined } as const

/** Hands deliveries to the iterators of a receiver. */
export interface Subscribers {
  /** Resolves when an iterator has taken the delivery; rejects if none does in time. */
  deliver(delivery: PushDelivery, signal: AbortSignal): Promise<void>
  /** Each delivery goes to one of the iterators. */
  events(): AsyncIterableIterator<PushDelivery>
  close(): void
}

export function createSubscribers(takeWithin: number): Subscribers {
  const offers = new Set<Offer>()
  const takers = new Set<Taker>()
  let isClosed = false

  function deliver(delivery: PushDelivery, signal: AbortSignal): Promise<void> {
    const [taker] = takers
    if (taker) {
      takers.delete(taker)
      taker({ done: false, value: delivery })
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => {
        offers.delete(offer)
        clearTimeout(timer)
        signal.removeEventListener('abort', cancel)
        settle()
      }
      const offer: Offer = { delivery, take: () => finish(resolve), fail: (refusal) => finish(() => reject(refusal)) }
      const cancel = () => offer.fail(new DeliveryRefusal('not-taken', 'The sender closed the connection.'))
      const expire = () => offer.fail(new DeliveryRefusal('not-taken', 'No reader took the event: try again later.'))
      const timer = setTimeout(expire, takeWithin)
      signal.addEventListener('abort', cancel)
      offers.add(offer)
      if (isClosed) offer.fail(closing())
      else if (signal.aborted) cancel()
    })
  }

  function events(): AsyncIterableIterator<PushDelivery> {
    const pendingTakers = new Set<Taker>()
    let isEnded = false
    const iterator: AsyncIterableIterator<PushDelivery> = {
      next() {
        if (isEnded || isClosed) return Promise.resolve(end)
        const [offer] = offers
        if (offer) {
          offer.take()
          return Promise.resolve({ done: false, value: offer.delivery })
        }
        return new Promise((resolve) => {
          const taker: Taker = (result) => {
            pendingTakers.delete(taker)
            resolve(result)
          }
          pendingTakers.add(taker)
          takers.add(taker)
        })
      },
      // Not a generator, whose `return` would wait for a pending `next`.
      return() {
        isEnded = true
        for (const taker of pendingTakers) {
          takers.delete(taker)
          taker(end)
        }
        return Promise.resolve(end)
      },
      [Symbol.asyncIterator]: () => iterator,
    }
    return iterator
  }

  return {
    deliver,
    events,
    close() {
      isClosed = true
      for (const offer of offers) offer.fail(closing())
      for (const taker of takers) taker(end)
      takers.clear()
    },
  }
}

interface Offer {
  readonly delivery: PushDelivery
  take(): void
  fail(refusal: DeliveryRefusal): void
}

type Taker = (result: IteratorResult<PushDelivery, undefined>) => void

function closing(): DeliveryRefusal {
  return new DeliveryRefusal('closed', 'This receiver is closing.')
}
