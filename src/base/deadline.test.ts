import { setTimeout as wait } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { withDeadline } from './abort.ts'

it('aborts when the time is up, and says why', async () => {
  const { signal } = withDeadline(new AbortController().signal, 5, () => 'too late')
  await wait(20)
  expect(signal.reason).toBe('too late')
})

it('aborts when the caller leaves, now or before, for the reason of the caller', () => {
  const caller = new AbortController()
  const { signal } = withDeadline(caller.signal, 1_000, () => 'too late')
  caller.abort('bye')
  expect(signal.reason).toBe('bye')
  expect(withDeadline(caller.signal, 1_000, () => 'too late').signal.reason).toBe('bye')
})

it('does not abort once it is extended, released or without an end', async () => {
  const caller = new AbortController()
  const extended = withDeadline(caller.signal, 5, () => 'too late')
  const released = withDeadline(caller.signal, 5, () => 'too late')
  const endless = withDeadline(caller.signal, Number.POSITIVE_INFINITY, () => 'too late')
  extended.extend()
  released.release()
  await wait(20)
  caller.abort('bye')
  expect([extended, released, endless].map(({ signal }) => signal.reason)).toEqual(['bye', undefined, 'bye'])
})
