import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { grpcIncoming } from '../../../test/support/grpc/grpc-incoming.ts'
import { startDeadline } from './answer-call.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** A call with this `grpc-timeout`. */
function start(timeout?: string, signal = new AbortController().signal) {
  const headers: Record<string, string> = timeout === undefined ? {} : { 'grpc-timeout': timeout }
  return startDeadline(grpcIncoming({ path: '/', headers, signal }))
}

test('without a timeout there is only the caller', () => {
  const { signal } = new AbortController()
  const deadline = start(undefined, signal)
  expect(deadline.incoming.signal).toBe(signal)
  expect(deadline.hasPassed()).toBe(false)
})

test.each([
  ['2H', 7_200_000],
  ['3M', 180_000],
  ['5S', 5_000],
  ['250m', 250],
  ['5000u', 5],
  ['99999999n', 99],
])('%s is %i milliseconds', (timeout, milliseconds) => {
  const deadline = start(timeout)
  vi.advanceTimersByTime(milliseconds - 1)
  expect(deadline.hasPassed()).toBe(false)
  vi.advanceTimersByTime(1)
  expect(deadline.hasPassed()).toBe(true)
  expect(deadline.incoming.signal.aborted).toBe(true)
})

test('the longest timeout is not taken for none at all', () => {
  const deadline = start('99999999H')
  vi.advanceTimersByTime(86_400_000)
  expect(deadline.hasPassed()).toBe(false)
})

test('a caller that leaves aborts the call before its deadline', () => {
  const caller = new AbortController()
  const deadline = start('1S', caller.signal)
  caller.abort(new Error('gone'))
  expect(deadline.incoming.signal.reason).toEqual(new Error('gone'))
  expect(deadline.hasPassed()).toBe(false)
  const late = start('1S', caller.signal)
  expect(late.incoming.signal.aborted).toBe(true)
})

test('work that does not end in time is left behind', async () => {
  const deadline = start('1S')
  const work = deadline.limit(new Promise(() => {}))
  vi.advanceTimersByTime(1_000)
  await expect(work).rejects.toMatchObject({ code: 'timeout' })
})

test('work that ends in time is as it is', async () => {
  const deadline = start('1S')
  expect(await deadline.limit(Promise.resolve(1))).toBe(1)
  await expect(deadline.limit(Promise.reject(new Error('no')))).rejects.toThrow('no')
})

test('a released deadline does not pass', () => {
  const deadline = start('1S')
  deadline.release()
  vi.advanceTimersByTime(2_000)
  expect(deadline.hasPassed()).toBe(false)
  expect(vi.getTimerCount()).toBe(0)
})

test.each(['', '1', 'S', '1s', '-1S', '1.5S', '123456789S', '1S '])('%j is no timeout, and ignored', (timeout) => {
  const deadline = start(timeout)
  vi.advanceTimersByTime(10_000)
  expect(deadline.hasPassed()).toBe(false)
})
