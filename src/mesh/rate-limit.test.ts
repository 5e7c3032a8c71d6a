import { describe, expect, it } from 'vitest'
import { createRateLimit, type RateLimit } from './rate-limit.ts'

async function takeAll(limit: RateLimit, peers: string): Promise<readonly number[]> {
  const waits: number[] = []
  for (const peer of peers) waits.push(await limit.take(peer))
  return waits
}

describe('a rate limit', () => {
  it('a rate limit accepts a burst, then a number of messages per second', async () => {
    let now = 0
    const limit = createRateLimit({ limit: 3, window: 1.5, now: () => now })
    expect(await takeAll(limit, 'aaaa')).toEqual([0, 0, 0, 1])
    expect(await limit.take('b')).toBe(0)
    now = 500
    expect(await takeAll(limit, 'aa')).toEqual([0, 1])
    now = 60_000
    expect(await takeAll(limit, 'aaaa')).toEqual([0, 0, 0, 1])
  })

  it('a rate limit returns the seconds until the next message is accepted', async () => {
    const limit = createRateLimit({ limit: 1, window: 10, now: () => 0 })
    expect(await takeAll(limit, 'aa')).toEqual([0, 10])
  })

  it('remembers a limited number of peers', async () => {
    const limit = createRateLimit({ limit: 1, window: 1, peers: 2, now: () => 0 })
    expect(await takeAll(limit, 'abcba')).toEqual([0, 0, 0, 1, 0])
  })

  it.each([
    [{ limit: 0, window: 1 }, 'createRateLimit: limit: expected a number above 0'],
    [{ limit: 5, window: Number.NaN }, 'createRateLimit: window: expected a number above 0'],
    [{ limit: 5 }, 'expected limit and window'],
    [{ perSecond: 5 }, 'createRateLimit: perSecond is not an option'],
  ])('a rate limit refuses %o with a sentence', (options, message) => {
    expect(() => createRateLimit(options as never)).toThrow(message)
  })

  it('a rate limit counts in a shared store', async () => {
    const keys: string[] = []
    const state = { isAllowed: false, remaining: 0, fullAfter: 9, retryAfter: 2.5 }
    const take = async (key: string) => {
      keys.push(key)
      return state
    }
    const store = { take, hold: () => undefined }
    expect(await createRateLimit({ limit: 1, window: 1, store }).take('a')).toBe(3)
    expect(keys).toEqual(['mesh a'])
  })
})
