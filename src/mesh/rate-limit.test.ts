import { describe, expect, it } from 'vitest'
import { createRateLimit, type RateLimit } from './rate-limit.ts'

async function takeAll(limit: RateLimit, peers: string): Promise<readonly number[]> {
  const waits: number[] = []
  for (const peer of peers) waits.push(await limit.take(peer))
  return waits
}

describe('a rate limit', () => {
  it('accepts a burst, then a number of messages per second', async () => {
    let now = 0
    const limit = createRateLimit({ perSecond: 2, burst: 3, now: () => now })
    expect(await takeAll(limit, 'aaaa')).toEqual([0, 0, 0, 1])
    expect(await limit.take('b')).toBe(0)
    now = 500
    expect(await takeAll(limit, 'aa')).toEqual([0, 1])
    now = 60_000
    expect(await takeAll(limit, 'aaaa')).toEqual([0, 0, 0, 1])
  })

  it('returns the seconds until the next message is accepted', async () => {
    const limit = createRateLimit({ perSecond: 0.1, burst: 1, now: () => 0 })
    expect(await takeAll(limit, 'aa')).toEqual([0, 10])
  })

  it('remembers a limited number of peers', async () => {
    const limit = createRateLimit({ perSecond: 1, burst: 1, peers: 2, now: () => 0 })
    expect(await takeAll(limit, 'abcba')).toEqual([0, 0, 0, 1, 0])
  })

  it('counts in a shared store', async () => {
    const keys: string[] = []
    const state = { isAllowed: false, remaining: 0, fullAfter: 9, retryAfter: 2.5 }
    const take = async (key: string) => {
      keys.push(key)
      return state
    }
    const store = { take, hold: () => undefined }
    expect(await createRateLimit({ perSecond: 1, store }).take('a')).toBe(3)
    expect(keys).toEqual(['mesh a'])
  })
})
