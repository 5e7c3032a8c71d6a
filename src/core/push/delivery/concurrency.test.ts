import { describe, expect, it } from 'vitest'
import { createDeliverySlots, type DeliverySlots, type Slot } from './concurrency.ts'

describe('createDeliverySlots', () => {
  const { signal } = new AbortController()

  /** Acquires a slot if one is free by the next turn of the event loop. */
  async function tryAcquire(slots: DeliverySlots, host: string, receiver = host): Promise<Slot | 'waits'> {
    const canceling = new AbortController()
    const acquired = slots.acquire(host, receiver, canceling.signal)
    const waits = new Promise<'waits'>((resolve) => setImmediate(resolve, 'waits'))
    const first = await Promise.race([acquired, waits])
    if (first === 'waits') canceling.abort()
    return first ?? 'waits'
  }

  it('a host gets no more than its share of the slots', async () => {
    const slots = createDeliverySlots({ total: 3, perHost: 2, slow: 0 })
    const first = await slots.acquire('a', 'a', signal)
    await slots.acquire('a', 'a', signal)
    expect(await tryAcquire(slots, 'a')).toBe('waits')
    await slots.acquire('b', 'b', signal)
    expect(await tryAcquire(slots, 'c')).toBe('waits')
    first?.release()
    expect(await tryAcquire(slots, 'c')).not.toBe('waits')
  })

  it('waiting requests get slots round-robin by host', async () => {
    const slots = createDeliverySlots({ total: 1, perHost: 1, slow: 0 })
    let current = await slots.acquire('a', 'a', signal)
    const order: string[] = []
    const waiting = ['a', 'a', 'b', 'c', 'b'].map(async (host) => {
      const slot = await slots.acquire(host, host, signal)
      order.push(host)
      current = slot
    })
    for (const _ of waiting) {
      current?.release()
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(order).toEqual(['a', 'b', 'c', 'a', 'b'])
  })

  it('a slow receiver frees its slot, and its next request starts in the slow pool', async () => {
    const slots = createDeliverySlots({ total: 1, perHost: 1, slow: 1, slowAfter: 20 })
    const slow = await slots.acquire('slow', 'slow', signal)
    const quick = await slots.acquire('quick', 'quick', signal)
    // The slow pool is full by now, so a request to the slow receiver waits without taking a slot of others.
    expect(await tryAcquire(slots, 'slow')).toBe('waits')
    quick?.release()
    expect(await tryAcquire(slots, 'slow')).toBe('waits')
    slow?.release()
    const again = await tryAcquire(slots, 'slow')
    expect(again).not.toBe('waits')
    expect(await tryAcquire(slots, 'quick')).not.toBe('waits')
  })

  it('a receiver that responds fast sends its next requests in the same slot', async () => {
    const slots = createDeliverySlots({ total: 1, perHost: 1, slow: 1, slowAfter: 20 })
    const slot = await slots.acquire('a', 'a', signal)
    expect(await slot?.next(signal)).toBe(true)
    await new Promise((resolve) => setTimeout(resolve, 40))
    expect(await slot?.next(signal)).toBe(false)
  })

  it('requests beyond the limit of their host, and those to slow receivers, do not count as waiting', async () => {
    const slots = createDeliverySlots({ total: 2, perHost: 1, slow: 1, slowAfter: 20 })
    const slow = await slots.acquire('slow', 'slow', signal)
    await slots.acquire('a', 'a', signal)
    await slots.acquire('b', 'b', signal) // when the slow request has left its slot
    const canceling = new AbortController()
    const waiting = ['slow', 'c', 'c', 'c', 'd'].map((host) => slots.acquire(host, host, canceling.signal))
    expect(slots.waiting()).toBe(2)
    canceling.abort()
    await Promise.all(waiting)
    expect(slots.waiting()).toBe(0)
    slow?.release()
  })
})
