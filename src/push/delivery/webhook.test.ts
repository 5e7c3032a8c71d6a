import { describe, expect, it } from 'vitest'
import { createPushFetch } from '../../node/guarded-fetch/push-fetch.ts'
import { withPushDefaults } from '../options.ts'
import type { Webhook } from '../store.ts'
import type { Attempted } from './send.ts'
import { afterAttempt, dueOf, underWay } from './webhook-state.ts'

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
const well: Attempted = { at: 10, latency: 1, status: 204 }
const ill: Attempted = { at: 10, latency: 1, status: 500, problem: 'answered with 500' }
const now = 1_000_000

function tried(webhook: Webhook, generation: number, ...attempts: readonly Attempted[]): Webhook {
  return attempts.reduce((each, attempted) => afterAttempt(each, generation, attempted, settings, now), webhook)
}

describe('a delivery', () => {
  it('that arrives moves the cursor, and is remembered with its attempts', () => {
    const told = tried(fresh, 2, ill, well)
    expect(told).toMatchObject({ cursor: 2, recent: [{ generation: 2, attempts: 2, status: 204 }], dead: [] })
    expect(underWay(told, 2)).toBeUndefined()
  })

  it('that fails is due again after a pause, which a receiver can prolong', () => {
    const failed = tried(fresh, 2, ill)
    expect(failed).toMatchObject({ cursor: 1, failing: { generation: 2, attempts: 1, problem: 'answered with 500' } })
    expect(dueOf(failed)).toBeGreaterThanOrEqual(now + 500)
    expect(dueOf(failed)).toBeLessThanOrEqual(now + 1_000)
    expect(dueOf(tried(fresh, 2, { ...ill, retryAfter: 30_000 }))).toBe(now + 30_000)
    expect(dueOf(tried(fresh, 2, { ...ill, retryAfter: 86_400_000 }))).toBe(now + 60_000)
  })

  it('is dead after the last attempt, and the next one is tried', () => {
    const dead = tried(fresh, 2, ill, ill, ill)
    expect(dead).toMatchObject({ cursor: 2, state: 'active', givenUp: 1, dead: [{ generation: 2, attempts: 3 }] })
    expect(tried(dead, 3, well)).toMatchObject({ cursor: 3, givenUp: 0 })
  })
})

describe('a webhook', () => {
  it('pauses after so many dead deliveries in a row, and has nothing to do then', () => {
    const paused = tried(tried(fresh, 2, ill, ill, ill), 3, ill, ill, ill)
    expect(paused).toMatchObject({ state: 'paused', givenUp: 2, cursor: 3 })
    expect(dueOf(paused)).toBeUndefined()
  })

  it('remembers so much and no more, however many deliveries arrive or die', () => {
    let webhook = fresh
    for (let generation = 2; generation < 300; generation++) webhook = tried(webhook, generation, well)
    for (let generation = 300; generation < 700; generation++) webhook = tried(webhook, generation, ill, ill, ill)
    expect(webhook.recent.map(({ generation }) => generation)).toEqual(Array.from({ length: 10 }, (_, n) => 290 + n))
    expect(webhook.dead).toHaveLength(200)
    expect(webhook.dead.at(-1)?.generation).toBe(699)
  })
})

it('without options an attempt takes 15 seconds at most, and no lease is shorter than two of them', () => {
  const fetch = createPushFetch()
  expect(withPushDefaults({ fetch })).toMatchObject({ timeout: 15_000, leaseTtl: 30_000, pauseAfter: 3 })
  expect(withPushDefaults({ fetch, timeout: 60_000 }).leaseTtl).toBe(120_000)
})
