import { expect, it } from 'vitest'
import { createDeliveryMemory } from './delivery-memory.ts'

const record = (id: string, mustUntil = 0) => ({ id, digest: 'd', mustUntil })

it('only the first claimant may handle a delivery', async () => {
  const memory = createDeliveryMemory()
  expect(await memory.claim(record('a'))).toBe('new')
  expect(await memory.claim(record('a'))).toBe('pending')
  await memory.settle('a')
  expect(await memory.claim(record('a'))).toBe('done')
  expect(await memory.claim({ ...record('a'), digest: 'other' })).toBe('conflict')
})

it('a released delivery can be claimed again', async () => {
  const memory = createDeliveryMemory()
  await memory.claim(record('a'))
  await memory.release('a')
  expect(await memory.claim(record('a'))).toBe('new')
})

it('an attempt is recognised by its signature', async () => {
  const memory = createDeliveryMemory()
  await memory.claim({ ...record('a'), proof: 'one' })
  await memory.settle('a')
  expect(await memory.claim({ ...record('a'), proof: 'one' })).toBe('replayed')
  expect(await memory.claim({ ...record('a'), proof: 'two' })).toBe('done')
  expect(await memory.claim({ ...record('a'), proof: 'two' })).toBe('replayed')
})

it('a full memory drops the oldest deliveries, except those that could be replayed', async () => {
  let now = 0
  const memory = createDeliveryMemory({ capacity: 2, now: () => now })
  for (const id of ['a', 'b', 'c']) {
    expect(await memory.claim(record(id, 5_000 * (id === 'a' ? 0 : 1)))).toBe('new')
    await memory.settle(id)
  }
  expect(await memory.claim(record('b'))).toBe('done')
  expect(() => memory.claim(record('d'))).toThrow('Too many deliveries were received recently')
  now = 5_000
  expect(await memory.claim(record('d'))).toBe('new')
  expect(await memory.claim(record('c'))).toBe('done')
})

it('an old delivery is forgotten', async () => {
  let now = 0
  const memory = createDeliveryMemory({ rememberFor: 1_000, now: () => now })
  await memory.claim(record('a'))
  await memory.settle('a')
  now = 999
  expect(await memory.claim(record('a'))).toBe('done')
  now = 1_000
  expect(await memory.claim(record('a'))).toBe('new')
})
