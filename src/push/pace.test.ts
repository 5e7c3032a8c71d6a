import { expect, it } from 'vitest'
import { until } from '../../test/support/house.ts'
import { createPace } from './pace.ts'

function paceOf(isBusy: () => boolean) {
  let isAtWork = true
  const pace = createPace({ total: 16, isBusy, onBeat: () => isAtWork })
  const stop = () => {
    isAtWork = false
  }
  return { pace, stop }
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

it('where no turn is at work, all places are open', () => {
  const { pace, stop } = paceOf(() => false)
  pace.begin()
  expect(pace.limit).toBe(16)
  stop()
})

it('turns that wait leave all places open, those that keep the loop busy leave few', async () => {
  const { pace, stop } = paceOf(() => true)
  pace.begin()
  expect(pace.limit).toBe(2)
  await until(() => pace.limit === 16)
  const rest = keepBusy()
  await until(() => pace.limit === 2)
  rest()
  await until(() => pace.limit === 16)
  stop()
})
