import { expect, it } from 'vitest'
import { silentLogger } from '../../../test/support/logger.ts'
import { createShutdown } from './shutdown.ts'

const settings = { handlesSignals: false, logger: silentLogger }
const signals = ['SIGTERM', 'SIGINT'] as const
const listeners = () => signals.map((name) => process.listenerCount(name))

it('a server is closed once, and its signal listeners are removed', async () => {
  const before = listeners()
  let stops = 0
  const stop = async () => void stops++
  const { close } = createShutdown({ ...settings, handlesSignals: true, stop, drainDeadline: 10_000 })
  expect(listeners()).toEqual(before.map((count) => count + 1))
  await Promise.all([close(), close()])
  await close()
  expect(stops).toBe(1)
  expect(listeners()).toEqual(before)
})

it('closing rejects at the deadline if something does not stop', async () => {
  const stop = () => new Promise<void>(() => {})
  const { close } = createShutdown({ ...settings, stop, drainDeadline: 0 })
  await expect(close()).rejects.toThrow(/not closed within 3000 ms \(drainDeadline\)/)
})

it.each([
  [0, { turns: 0, stoppedTurns: 1_000, readers: 700 }],
  [10_000, { turns: 7_000, stoppedTurns: 1_500, readers: 1_050 }],
])('the parts of a shutdown with a deadline of %i ms are shorter than the whole', async (drainDeadline, expected) => {
  let times: object = {}
  const stop = async (given: object) => {
    times = given
  }
  await createShutdown({ ...settings, stop, drainDeadline }).close()
  expect(times).toEqual(expected)
})

it('without signal handling, a lost log is only logged', async () => {
  const errors: string[] = []
  const logger = { ...silentLogger, error: (_: object, message: string) => void errors.push(message) }
  let stops = 0
  const stop = async () => void stops++
  createShutdown({ ...settings, logger, stop, drainDeadline: 0 }).fail(new Error('gone'))
  expect(errors).toEqual(['gone'])
  expect(stops).toBe(0)
})
