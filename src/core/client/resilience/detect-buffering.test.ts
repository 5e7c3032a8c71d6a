import { expect, it } from 'vitest'
import type { StreamEvent } from '../../protocol/events.ts'
import { createBufferingDetector } from './detect-buffering.ts'

/** The notice for a stream whose events were sent and received at these seconds. */
function noticeOf(seconds: readonly (readonly [sentAt: number, receivedAt: number])[]) {
  let now = 0
  const detector = createBufferingDetector(() => now)
  for (const [sentAt, receivedAt] of seconds) {
    now = receivedAt * 1000
    const timestamp = new Date(sentAt * 1000).toISOString()
    const event: StreamEvent = {
      type: 'status',
      status: { state: 'working', timestamp },
      taskId: 't',
      contextId: 'c',
      generation: 0,
    }
    detector.record(event)
  }
  return detector.result()
}

it('events that were sent over time and arrive at once were buffered', () => {
  expect(
    noticeOf([
      [0, 10],
      [3, 10],
      [10, 10.1],
    ]),
  ).toMatchObject({ type: 'buffered' })
})

it('events that arrive as they are sent were not buffered, even if the clocks differ', () => {
  expect(
    noticeOf([
      [0, 100],
      [3, 103.2],
      [10, 110],
    ]),
  ).toBeUndefined()
})

it('a short or empty stream shows nothing', () => {
  expect(
    noticeOf([
      [0, 10],
      [1, 10],
    ]),
  ).toBeUndefined()
  expect(noticeOf([])).toBeUndefined()
})
