import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startDeadline } from './deadline.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const caller = () => new AbortController()

test('without a timeout there is only the caller', () => {
  const { signal } = caller()
  const deadline = startDeadline(undefined, signal)
  expect(deadline.signal).toBe(signal)
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
  const deadline = startDeadline(timeout, caller().signal)
  vi.advanceTimersByTime(milliseconds - 1)
  expect(deadline.hasPassed()).toBe(false)
  vi.advanceTimersByTime(1)
  expect(deadline.hasPassed()).toBe(true)
  expect(deadline.signal.aborted).toBe(true)
})

test('the longest timeout is not taken for none at all', () => {
  const deadline = startDeadline('99999999H', caller().signal)
  vi.advanceTimersByTime(86_400_000)
  expect(deadline.hasPassed()).toBe(false)
})

test('a caller that leaves aborts the call before its deadline', () => {
  const controller = caller()
  const deadline = startDeadline('1S', controller.signal)
  controller.abort(new Error('gone'))
  expect(deadline.signal.reason).toEqual(new Error('gone'))
  expect(deadline.hasPassed()).toBe(false)
  const late = startDeadline('1S', controller.signal)
  expect(late.signal.aborted).toBe(true)
})

test('work that does not end in time is left behind', async () => {
  const deadline = startDeadline('1S', caller().signal)
  const work = deadline.limit(new Promise(() => {}))
  vi.advanceTimersByTime(1_000)
  await expect(work).rejects.toMatchObject({ code: 'timeout' })
})

test('work that ends in time is as it is', async () => {
  const deadline = startDeadline('1S', caller().signal)
  expect(await deadline.limit(Promise.resolve(1))).toBe(1)
  await expect(deadline.limit(Promise.reject(new Error('no')))).rejects.toThrow('no')
})

test('a released deadline does not pass', () => {
  const deadline = startDeadline('1S', caller().signal)
  deadline.release()
  vi.advanceTimersByTime(2_000)
  expect(deadline.hasPassed()).toBe(false)
  expect(vi.getTimerCount()).toBe(0)
})

test.each(['', '1', 'S', '1s', '-1S', '1.5S', '123456789S', '1S '])('%j is not a timeout', (timeout) => {
  expect(() => startDeadline(timeout, caller().signal)).toThrow('up to eight digits')
})
