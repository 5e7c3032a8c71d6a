import { describe, expect, it } from 'vitest'
import type { Webhook } from '../store.ts'
import type { AttemptResult } from './send.ts'
import { afterAttempt, dueOf, pendingDelivery } from './webhook-state.ts'

const settings = { retry: { attempts: 3, first: 1_000, longest: 60_000 }, pauseAfter: 2 }
const fresh: Webhook = {
  uid: 'u',
  config: { url: 'https://h' },
  contextId: 'c',
  traceId: '0'.repeat(32),
  state: 'active',
  cursor: 1,
  givenUp: 0,
  dead: [],
  redriven: [],
  recent: [],
  created: 5,
}
const succeeded: AttemptResult = { at: 10, latency: 1, status: 204 }
const failed: AttemptResult = { at: 10, latency: 1, status: 500, problem: 'answered with 500' }
const now = 1_000_000

function attempted(webhook: Webhook, generation: number, ...results: readonly AttemptResult[]): Webhook {
  return results.reduce((state, result) => afterAttempt(state, generation, result, settings, now), webhook)
}

describe('afterAttempt', () => {
  it('a successful delivery moves the cursor, and is remembered with its attempts', () => {
    const delivered = attempted(fresh, 2, failed, succeeded)
    expect(delivered).toMatchObject({ cursor: 2, recent: [{ generation: 2, attempts: 2, status: 204 }], dead: [] })
    expect(pendingDelivery(delivered, 2)).toBeUndefined()
  })

  it('a failed delivery is due again after a delay, which Retry-After can extend', () => {
    const retrying = attempted(fresh, 2, failed)
    expect(retrying).toMatchObject({ cursor: 1, failing: { generation: 2, attempts: 1, problem: 'answered with 500' } })
    expect(dueOf(retrying)).toBeGreaterThanOrEqual(now + 500)
    expect(dueOf(retrying)).toBeLessThanOrEqual(now + 1_000)
    expect(dueOf(attempted(fresh, 2, { ...failed, retryAfter: 30_000 }))).toBe(now + 30_000)
    expect(dueOf(attempted(fresh, 2, { ...failed, retryAfter: 86_400_000 }))).toBe(now + 60_000)
  })

  it('a delivery is dead after the last attempt, and the next one is due', () => {
    const dead = attempted(fresh, 2, failed, failed, failed)
    expect(dead).toMatchObject({ cursor: 2, state: 'active', givenUp: 1, dead: [{ generation: 2, attempts: 3 }] })
    expect(attempted(dead, 3, succeeded)).toMatchObject({ cursor: 3, givenUp: 0 })
  })
  it('a webhook pauses after several consecutive dead deliveries, and has nothing due then', () => {
    const paused = attempted(attempted(fresh, 2, failed, failed, failed), 3, failed, failed, failed)
    expect(paused).toMatchObject({ state: 'paused', givenUp: 2, cursor: 3 })
    expect(dueOf(paused)).toBeUndefined()
  })

  it('a webhook remembers a bounded number of successful and dead deliveries', () => {
    let webhook = fresh
    for (let generation = 2; generation < 300; generation++) webhook = attempted(webhook, generation, succeeded)
    for (let generation = 300; generation < 700; generation++)
      webhook = attempted(webhook, generation, failed, failed, failed)
    expect(webhook.recent.map(({ generation }) => generation)).toEqual(Array.from({ length: 10 }, (_, n) => 290 + n))
    expect(webhook.dead).toHaveLength(200)
    expect(webhook.dead.at(-1)?.generation).toBe(699)
  })
})
