import { expect, it, onTestFinished } from 'vitest'
import { silentLogger } from '../../../test/support/logger.ts'
import { createReadiness } from './readiness.ts'

it('a store that does not answer is unavailable, also for later checks, and no timer is set into the past', async () => {
  const warnings: string[] = []
  const onWarning = ({ name }: Error) => void warnings.push(name)
  process.on('warning', onWarning)
  onTestFinished(() => void process.off('warning', onWarning))
  const isReady = createReadiness({ check: () => new Promise(() => {}) }, silentLogger)
  expect(await isReady()).toBe(false)
  // The same check is still running, for longer than it may take.
  for (const _ of [1, 2]) expect(await isReady()).toBe(false)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(warnings).toEqual([])
})
