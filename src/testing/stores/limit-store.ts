import type { LimitStore } from '../../core/limits/limit-store.ts'
import { expect } from './expect.ts'
import { type StoreTest, storeTest, until } from './store-test.ts'

/** The behaviour of every store of limits. */
export const limitStoreTests: readonly StoreTest<LimitStore>[] = [
  storeTest('a rate limit allows a number of uses per window and reports its state', async (store) => {
    const rate = { limit: 2, window: 60 }
    expect(await store.take('a', rate)).toMatchObject({ isAllowed: true, remaining: 1, retryAfter: 0 })
    expect(await store.take('a', rate)).toMatchObject({ isAllowed: true, remaining: 0 })
    const third = await store.take('a', rate)
    expect(third).toMatchObject({ isAllowed: false, remaining: 0 })
    expect(third.retryAfter).toBeGreaterThan(20)
    expect(third.fullAfter).toBeGreaterThan(50)
    expect(await store.take('b', rate)).toMatchObject({ isAllowed: true })
  }),
  storeTest('uses become available again steadily', async (store) => {
    const rate = { limit: 2, window: 0.6 }
    for (const _ of [1, 2]) expect((await store.take('a', rate)).isAllowed).toBe(true)
    await until(async () => (await store.take('a', rate)).isAllowed)
    expect((await store.take('a', rate)).isAllowed).toBe(false)
  }),
  storeTest('an amount is charged beyond its limit, and reading the state charges nothing', async (store) => {
    const rate = { limit: 100, window: 60 }
    const charge = async (amount: number) => {
      if (!store.charge) throw new Error('This store cannot count amounts: it has no `charge`.')
      return await store.charge('a', rate, amount)
    }
    expect(await charge(0)).toMatchObject({ isAllowed: true, remaining: 100, retryAfter: 0 })
    expect(await charge(60)).toMatchObject({ isAllowed: true, remaining: 40 })
    expect(await charge(0)).toMatchObject({ isAllowed: true, remaining: 40 })
    const exceeded = await charge(90)
    expect(exceeded).toMatchObject({ isAllowed: false, remaining: 0 })
    expect(exceeded.retryAfter).toBeGreaterThan(25)
    expect(exceeded.retryAfter).toBeLessThanOrEqual(30)
    expect((await charge(0)).isAllowed).toBe(false)
  }),
  storeTest('a concurrency limit has a number of places, and each is released once', async (store) => {
    const [one, other] = [await store.hold('a', 2), await store.hold('a', 2)]
    expect([typeof one, typeof other]).toEqual(['function', 'function'])
    expect(await store.hold('a', 2)).toBeUndefined()
    expect(await store.hold('b', 2)).toBeDefined()
    one?.()
    one?.()
    await until(async () => (await store.hold('a', 2)) !== undefined)
    expect(await store.hold('a', 2)).toBeUndefined()
  }),
  storeTest('concurrent callers get no more than the limit', async (store) => {
    const many = Array.from({ length: 30 })
    const held = await Promise.all(many.map(async () => await store.hold('a', 5)))
    expect(held.filter((release) => release !== undefined)).toHaveLength(5)
    const taken = await Promise.all(many.map(async () => await store.take('a', { limit: 5, window: 600 })))
    expect(taken.filter(({ isAllowed }) => isAllowed)).toHaveLength(5)
  }),
  storeTest('keys may be any string', async (store) => {
    const names = ['a\u0000b', 'a\nb', 'a\u001fb', '\ud800', 'a\\0000b', '', 'ä', 'x'.repeat(2_000)]
    for (const key of names) {
      const rate = { limit: 1, window: 600 }
      expect((await store.take(key, rate)).isAllowed).toBe(true)
      expect((await store.take(key, rate)).isAllowed).toBe(false)
      expect(await store.hold(key, 1)).toBeDefined()
      expect(await store.hold(key, 1)).toBeUndefined()
    }
  }),
]
