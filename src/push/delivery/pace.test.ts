import { expect, it } from 'vitest'
import { until } from '../../../test/support/house.ts'
import { createStartThrottle } from './concurrency.ts'

/** A pace, and how many have set out in each beat, taking every start that there is. */
function paceOf(isBusy: () => boolean) {
  let isAtWork = true
  const beats: number[] = []
  const takeAll = () => {
    let taken = 0
    for (; taken < 100 && pace.mayStart; taken++) pace.take()
    return taken
  }
  const pace = createStartThrottle({
    total: 16,
    isBusy,
    onBeat() {
      beats.push(takeAll())
      return isAtWork
    },
  })
  const stop = () => {
    isAtWork = false
  }
  pace.begin()
  return { beats, first: takeAll(), stop }
}

/** Leaves the event loop no time until it is stopped. */
function keepBusy(): () => void {
  let isOver = false
  const work = () => {
    const end = performance.now() + 30
    while (performance.now() < end);
    if (!isOver) setImmediate(work)
  }
  work()
  return () => {
    isOver = true
  }
}

it('where no turn is at work, nothing is held back', () => {
  const { first, stop } = paceOf(() => false)
  expect(first).toBe(100)
  stop()
})

it('beside turns that wait many set out in a beat, beside those that keep the loop busy only a few', async () => {
  const { beats, first, stop } = paceOf(() => true)
  expect(first).toBe(2)
  await until(() => beats.at(-1) === 16)
  const rest = keepBusy()
  await until(() => beats.at(-1) === 2)
  rest()
  await until(() => beats.at(-1) === 16)
  stop()
})
