import { expect, it } from 'vitest'
import { createTestRuntime } from '../../../test/support/agents/test-runtime.ts'
import { readRetention } from './options.ts'

it('states with the same retention form a group, and infinite retention has none', () => {
  const day = 24 * 60 * 60 * 1000
  expect(readRetention()).toEqual({
    groups: [{ age: 30 * day, phases: ['answered', 'completed', 'failed', 'canceled', 'rejected', 'unknown'] }],
    longest: 30 * day,
    forgetAfter: 60 * day,
  })
  const retention = readRetention({ ended: day, completed: Number.POSITIVE_INFINITY, answered: 5, tombstones: 1 })
  expect(retention).toEqual({
    groups: [
      { age: 5, phases: ['answered'] },
      { age: day, phases: ['failed', 'canceled', 'rejected', 'unknown'] },
    ],
    longest: Number.POSITIVE_INFINITY,
    forgetAfter: day + 1,
  })
})

it.each([
  [{ finished: 5 }, 'retention: there is no finished; expected answered, completed'],
  [{ failed: '1d' }, 'retention.failed: expected milliseconds, got "1d"'],
])('an invalid retention is rejected: %j', (retention, problem) => {
  expect(() => readRetention(retention as object)).toThrow(problem)
})

it.each([['again'], [{ policy: 'retry', attempts: 0 }]])('an invalid recovery policy is rejected: %j', (recovery) => {
  const wrong = recovery as unknown as 'retry'
  expect(() => createTestRuntime(() => 'x', { recovery: wrong })).toThrow(/^recovery/)
})
