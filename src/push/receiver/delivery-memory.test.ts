import { expect, it } from 'vitest'
import { createDeliveryMemory } from './delivery-memory.ts'

const sighting = (id: string, mustUntil = 0) => ({ id, digest: 'd', mustUntil })

it('one of many who see a delivery may tell it', async () => {
  const memory = createDeliveryMemory()
  expect(await memory.claim(sighting('a'))).toBe('new')
  expect(await memory.claim(sighting('a'))).toBe('pending')
  await memory.settle('a')
  expect(await memory.claim(sighting('a'))).toBe('done')
  expect(await memory.claim({ ...sighting('a'), digest: 'other' })).toBe('conflict')
})

it('what was not told may be told', async () => {
  const memory = createDeliveryMemory()
  await memory.claim(sighting('a'))
  await memory.release('a')
  expect(await memory.claim(sighting('a'))).toBe('new')
})

it('an attempt is known by its signature', async () => {
  const memory = createDeliveryMemory()
  await memory.claim({ ...sighting('a'), proof: 'one' })
  await memory.settle('a')
  expect(await memory.claim({ ...sighting('a'), proof: 'one' })).toBe('replayed')
  expect(await memory.claim({ ...sighting('a'), proof: 'two' })).toBe('done')
  expect(await memory.claim({ ...sighting('a'), proof: 'two' })).toBe('replayed')
})

it('the oldest are forgotten when it is full, but none that could be played again', async () => {
  let now = 0
  const memory = createDeliveryMemory({ capacity: 2, now: () => now })
  for (const id of ['a', 'b', 'c']) {
    expect(await memory.claim(sighting(id, 5_000 * (id === 'a' ? 0 : 1)))).toBe('new')
    await memory.settle(id)
  }
  expect(await memory.claim(sighting('b'))).toBe('done')
  expect(() => memory.claim(sighting('d'))).toThrow('Too many deliveries came lately')
  now = 5_000
  expect(await memory.claim(sighting('d'))).toBe('new')
  expect(await memory.claim(sighting('c'))).toBe('done')
})

it('what is old is forgotten', async () => {
  let now = 0
  const memory = createDeliveryMemory({ rememberFor: 1_000, now: () => now })
  await memory.claim(sighting('a'))
  await memory.settle('a')
  now = 999
  expect(await memory.claim(sighting('a'))).toBe('done')
  now = 1_000
  expect(await memory.claim(sighting('a'))).toBe('new')
})
