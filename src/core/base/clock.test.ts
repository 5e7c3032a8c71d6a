import { describe, expect, it } from 'vitest'
import { createVirtualClock } from '../../testing/virtual-clock.ts'
import { monotonicOf, setAlarm, sleep, systemClock } from './clock.ts'

it('an alarm rings at its moment, however far away', async () => {
  const clock = createVirtualClock(0)
  const rings: number[] = []
  const day = 24 * 60 * 60 * 1000
  setAlarm(clock, 40 * day, () => rings.push(clock.now()))
  const cancel = setAlarm(clock, 30 * day, () => rings.push(clock.now()))
  await clock.advance(20 * day)
  cancel()
  await clock.advance(30 * day)
  expect(rings).toEqual([40 * day])
})

it('sleep ends after its time or when the signal aborts', async () => {
  const clock = createVirtualClock(0)
  const caller = new AbortController()
  await clock.run(sleep(1_000, caller.signal, clock))
  expect(clock.now()).toBe(1_000)
  const sleeping = sleep(1_000, caller.signal, clock)
  caller.abort()
  await sleeping
  await sleep(1_000, caller.signal, clock)
  expect(clock.now()).toBe(1_000)
})

describe('monotonicOf', () => {
  it('the monotonic time continues when the clock is set back', () => {
    let now = 1_000
    const time = monotonicOf({ ...systemClock, now: () => now, monotonic: undefined })
    const steps = [5, -500, 5, 0, -1_000, 20].map((step) => {
      now += step
      return time()
    })
    expect(steps).toEqual([1_005, 1_005, 1_010, 1_010, 1_010, 1_030])
  })

  it('the monotonic time of a clock is used if it has one', () => {
    expect(monotonicOf({ ...systemClock, monotonic: () => 42 })()).toBe(42)
  })
})
