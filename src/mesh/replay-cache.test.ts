import { describe, expect, it } from 'vitest'
import { createReplayCache } from './replay-cache.ts'

const sighting = (messageId: string, more = {}) => ({
  messageId,
  nonce: `n-${messageId}`,
  digest: 'd',
  until: 360,
  ...more,
})

describe('the memory of messages', () => {
  it('gives a message to work on once', () => {
    const cache = createReplayCache({ now: () => 0 })
    expect(cache.claim(sighting('a'))).toBe('new')
    expect(cache.claim(sighting('a'))).toBe('pending')
    cache.settle('a', 'the answer')
    expect(cache.claim(sighting('a'))).toEqual({ reply: 'the answer' })
  })

  it('takes the same id with other content, and the same nonce with another id, for a replay', () => {
    const cache = createReplayCache({ now: () => 0 })
    cache.claim(sighting('a'))
    expect(cache.claim(sighting('a', { digest: 'other' }))).toBe('replay')
    expect(cache.claim(sighting('b', { nonce: 'n-a' }))).toBe('replay')
    expect(cache.claim(sighting('b', { nonce: undefined }))).toBe('new')
  })

  it('forgets when it may', () => {
    let now = 0
    const cache = createReplayCache({ now: () => now })
    cache.claim(sighting('a'))
    now = 359
    expect(cache.claim(sighting('a'))).toBe('pending')
    now = 360
    expect(cache.claim(sighting('a', { until: 720 }))).toBe('new')
  })

  it('takes a message again that was given back', () => {
    const cache = createReplayCache({ now: () => 0 })
    cache.claim(sighting('a'))
    cache.release(sighting('a'))
    expect(cache.claim(sighting('a'))).toBe('new')
  })

  it('refuses what it could not remember, and says when it can', () => {
    let now = 0
    const cache = createReplayCache({ capacity: 2, now: () => now })
    cache.claim(sighting('a', { until: 2_500 }))
    cache.claim(sighting('b', { until: 9_000 }))
    expect(() => cache.claim(sighting('c'))).toThrow(
      expect.objectContaining({ code: 'SERVICE_UNAVAILABLE', retryAfter: 3 }),
    )
    expect(cache.claim(sighting('a'))).toBe('pending')
    now = 2_500
    expect(cache.claim(sighting('c', { until: 5_000 }))).toBe('new')
  })

  it('keeps so many answers; a message whose answer is gone is still known', () => {
    const cache = createReplayCache({ replySize: 10, now: () => 0 })
    for (const id of ['a', 'b', 'c']) {
      cache.claim(sighting(id))
      cache.settle(id, '12345')
    }
    expect(cache.claim(sighting('a'))).toBe('replay')
    expect(cache.claim(sighting('c'))).toEqual({ reply: '12345' })
  })
})
