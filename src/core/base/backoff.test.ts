import { expect, it } from 'vitest'
import { delayAfter } from './backoff.ts'

const delays = { minDelay: 1_000, maxDelay: 60_000 }

it('each delay is twice the last, up to the longest', () => {
  expect([0, 1, 2, 3, 7, 99].map((failures) => delayAfter(failures, delays, () => 1))).toEqual([
    1_000, 1_000, 2_000, 4_000, 60_000, 60_000,
  ])
})

it('half of a delay is random', () => {
  expect(delayAfter(3, delays, () => 0)).toBe(2_000)
  expect(delayAfter(3, delays, () => 0.5)).toBe(3_000)
})
