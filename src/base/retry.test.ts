import { expect, it } from 'vitest'
import { readRetryAfter } from '../push/delivery/send.ts'
import { pauseAfter } from './backoff.ts'

const retry = { attempts: 10, first: 1_000, longest: 60_000 }

it('each pause is twice the last, up to the longest, and no two are alike', () => {
  expect([1, 2, 3, 7, 99].map((attempts) => pauseAfter(attempts, retry, 0, 1))).toEqual([
    1_000, 2_000, 4_000, 60_000, 60_000,
  ])
  expect(pauseAfter(3, retry, 0, 0)).toBe(2_000)
})

it('a receiver that asks for a longer pause gets it, but not for ever', () => {
  expect(pauseAfter(1, retry, 5_000, 1)).toBe(5_000)
  expect(pauseAfter(3, retry, 1_000, 1)).toBe(4_000)
  expect(pauseAfter(1, retry, 86_400_000, 1)).toBe(60_000)
})

it('when to come back is told in seconds or as a date', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  expect(readRetryAfter('120', now)).toBe(120_000)
  expect(readRetryAfter('Thu, 01 Jan 2026 00:01:00 GMT', now)).toBe(60_000)
  expect(readRetryAfter('Thu, 01 Jan 2020 00:01:00 GMT', now)).toBe(0)
  expect(readRetryAfter('soon', now)).toBeUndefined()
  expect(readRetryAfter(null, now)).toBeUndefined()
})
