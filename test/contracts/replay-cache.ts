import { expect, it } from 'vitest'
import type { ReplayCache } from '../../src/entries/mesh.ts'
import type { ReplayCacheOptions } from '../../src/mesh/replay-cache.ts'

export type OpenReplayCache = (options: ReplayCacheOptions) => Promise<ReplayCache> | ReplayCache

export const mark = (messageId: string, more = {}) => ({
  messageId,
  nonce: `n-${messageId}`,
  digest: 'd',
  until: 360,
  ...more,
})

/** The behaviour of every replay cache. */
export function replayCacheContract(open: OpenReplayCache): void {
  it('a message can be claimed once', async () => {
    const cache = await open({ now: () => 0 })
    expect(await cache.claim(mark('a'))).toBe('new')
    expect(await cache.claim(mark('a'))).toBe('pending')
    await cache.settle('a', 'the answer')
    expect(await cache.claim(mark('a'))).toEqual({ reply: 'the answer' })
  })

  it('the same id with other content, or the same nonce with another id, is a replay', async () => {
    const cache = await open({ now: () => 0 })
    await cache.claim(mark('a'))
    expect(await cache.claim(mark('a', { digest: 'other' }))).toBe('replay')
    expect(await cache.claim(mark('b', { nonce: 'n-a' }))).toBe('replay')
    expect(await cache.claim(mark('b', { nonce: undefined }))).toBe('new')
    expect(await cache.claim(mark('c', { nonce: undefined }))).toBe('new')
  })

  it('a message is forgotten after its time', async () => {
    let now = 0
    const cache = await open({ now: () => now })
    await cache.claim(mark('a'))
    now = 359
    expect(await cache.claim(mark('a'))).toBe('pending')
    now = 360
    expect(await cache.claim(mark('a', { until: 720 }))).toBe('new')
    now = 720
    expect(await cache.claim(mark('b', { nonce: 'n-a', until: 900 }))).toBe('new')
  })

  it('a released message can be claimed again', async () => {
    const cache = await open({ now: () => 0 })
    await cache.claim(mark('a'))
    await cache.release(mark('a'))
    expect(await cache.claim(mark('a'))).toBe('new')
  })

  it('a full cache refuses new messages and says when to retry', async () => {
    let now = 0
    const cache = await open({ capacity: 2, now: () => now })
    await cache.claim(mark('a', { until: 2_500 }))
    await cache.claim(mark('b', { until: 9_000 }))
    expect(await cache.claim(mark('c'))).toEqual({ retryAfter: 3 })
    expect(await cache.claim(mark('a'))).toBe('pending')
    now = 2_500
    expect(await cache.claim(mark('c', { until: 5_000 }))).toBe('new')
  })

  it('the size of stored replies is bounded, and a message without its reply is still known', async () => {
    const cache = await open({ replySize: 10, now: () => 0 })
    for (const [at, id] of ['a', 'b', 'c'].entries()) {
      await cache.claim(mark(id, { until: 360 + at }))
      await cache.settle(id, '12345')
    }
    expect(await cache.claim(mark('a'))).toBe('replay')
    expect(await cache.claim(mark('c'))).toEqual({ reply: '12345' })
  })
}
