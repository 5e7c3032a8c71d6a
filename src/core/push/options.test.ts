import { expect, it } from 'vitest'
import { createPushFetch } from '../node/guarded-fetch/push-fetch.ts'
import { withPushDefaults } from './options.ts'

it('a request times out after 15 seconds by default, and a lease lasts for at least two timeouts', () => {
  const fetch = createPushFetch()
  expect(withPushDefaults({ fetch })).toMatchObject({ timeout: 15_000, leaseTtl: 30_000, pauseAfter: 3 })
  expect(withPushDefaults({ fetch, timeout: 60_000 }).leaseTtl).toBe(120_000)
  expect(() => withPushDefaults({ fetch, leaseTtl: 1_000 })).toThrow('push.leaseTtl: expected at least 30000')
})
