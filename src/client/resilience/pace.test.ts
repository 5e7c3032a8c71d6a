import { expect, it } from 'vitest'
import type { StreamEvent } from '../../protocol/events.ts'
import { createBufferingDetector } from './detect-buffering.ts'

/** A stream of which each event was told at one second and came at another. */
function verdictOn(seconds: readonly (readonly [told: number, came: number])[]) {
  let now = 0
  const pace = createBufferingDetector(() => now)
  for (const [told, came] of seconds) {
    now = came * 1000
    const timestamp = new Date(told * 1000).toISOString()
    const event: StreamEvent = {
      type: 'status',
      status: { state: 'working', timestamp },
      taskId: 't',
      contextId: 'c',
      generation: 0,
    }
    pace.record(event)
  }
  return pace.result()
}

it('says that events were held back if they were told over time and came at once', () => {
  expect(
    verdictOn([
      [0, 10],
      [3, 10],
      [10, 10.1],
    ]),
  ).toMatchObject({ type: 'buffered' })
})

it('says nothing if they came as they were told, whatever the clocks say', () => {
  expect(
    verdictOn([
      [0, 100],
      [3, 103.2],
      [10, 110],
    ]),
  ).toBeUndefined()
})

it('says nothing of what was short anyway, or nothing', () => {
  expect(
    verdictOn([
      [0, 10],
      [1, 10],
    ]),
  ).toBeUndefined()
  expect(verdictOn([])).toBeUndefined()
})
