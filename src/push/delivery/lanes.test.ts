import { expect, it } from 'vitest'
import { createDeliverySlots, type DeliverySlots, type Slot } from './concurrency.ts'

const { signal } = new AbortController()

/** Enters if there is a place by the next turn of the loop. */
async function tryEnter(lanes: DeliverySlots, host: string, receiver = host): Promise<Slot | 'waits'> {
  const leaving = new AbortController()
  const entered = lanes.enter(host, receiver, leaving.signal)
  const waits = new Promise<'waits'>((resolve) => setImmediate(resolve, 'waits'))
  const first = await Promise.race([entered, waits])
  if (first === 'waits') leaving.abort()
  return first ?? 'waits'
}

it('a host gets its share and no more, and others get theirs', async () => {
  const lanes = createDeliverySlots({ total: 3, perHost: 2, slow: 0 })
  const first = await lanes.enter('a', 'a', signal)
  await lanes.enter('a', 'a', signal)
  expect(await tryEnter(lanes, 'a')).toBe('waits')
  await lanes.enter('b', 'b', signal)
  expect(await tryEnter(lanes, 'c')).toBe('waits')
  first?.leave()
  expect(await tryEnter(lanes, 'c')).not.toBe('waits')
})

it('those who wait are let in by turns of their hosts', async () => {
  const lanes = createDeliverySlots({ total: 1, perHost: 1, slow: 0 })
  let current = await lanes.enter('a', 'a', signal)
  const order: string[] = []
  const waiting = ['a', 'a', 'b', 'c', 'b'].map(async (host) => {
    const pass = await lanes.enter(host, host, signal)
    order.push(host)
    current = pass
  })
  for (const _ of waiting) {
    current?.leave()
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(order).toEqual(['a', 'b', 'c', 'a', 'b'])
})

it('who takes long makes room, and starts in the slow lane next time', async () => {
  const lanes = createDeliverySlots({ total: 1, perHost: 1, slow: 1, slowAfter: 20 })
  const slow = await lanes.enter('slow', 'slow', signal)
  const quick = await lanes.enter('quick', 'quick', signal)
  // The slow lane is full by now, so what is known to be slow waits, and takes no place of others.
  expect(await tryEnter(lanes, 'slow')).toBe('waits')
  quick?.leave()
  expect(await tryEnter(lanes, 'slow')).toBe('waits')
  slow?.leave()
  const again = await tryEnter(lanes, 'slow')
  expect(again).not.toBe('waits')
  expect(await tryEnter(lanes, 'quick')).not.toBe('waits')
})
