import { describe, expect, it } from 'vitest'
import { createRateLimit } from './rate-limit.ts'

describe('a limit per peer', () => {
  it('lets a burst through, then so many a second', () => {
    let now = 0
    const limit = createRateLimit({ perSecond: 2, burst: 3, now: () => now })
    expect([1, 2, 3, 4].map(() => limit.take('a'))).toEqual([0, 0, 0, 1])
    expect(limit.take('b')).toBe(0)
    now = 500
    expect([1, 2].map(() => limit.take('a'))).toEqual([0, 1])
    now = 60_000
    expect([1, 2, 3, 4].map(() => limit.take('a'))).toEqual([0, 0, 0, 1])
  })

  it('says how many seconds it takes', () => {
    const limit = createRateLimit({ perSecond: 0.1, burst: 1, now: () => 0 })
    expect([limit.take('a'), limit.take('a')]).toEqual([0, 10])
  })

  it('remembers only so many peers', () => {
    const limit = createRateLimit({ perSecond: 1, burst: 1, peers: 2, now: () => 0 })
    expect(['a', 'b', 'c', 'b', 'a'].map((peer) => limit.take(peer))).toEqual([0, 0, 0, 1, 0])
  })
})
