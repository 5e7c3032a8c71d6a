import { expect, it } from 'vitest'
import { createTokenCache } from './token-cache.ts'

const later = Date.now() + 60_000

it('credentials are verified once until the result expires', async () => {
  const cache = createTokenCache<number>()
  let verifications = 0
  const verify = (until: number | undefined) => async () => ({
    value: ++verifications,
    ...(until !== undefined && { until }),
  })
  expect(await cache.get('a', verify(later))).toBe(1)
  expect(cache.get('a', verify(later))).toBe(1)
  expect(await cache.get('b', verify(Date.now() - 1))).toBe(2)
  expect(await cache.get('b', verify(undefined))).toBe(3)
  expect(await cache.get('b', verify(later))).toBe(4)
})

it('the cache holds ten thousand results and drops the first unused one', async () => {
  const cache = createTokenCache<string>()
  const verify = (name: string) => cache.get(name, async () => ({ value: name, until: later }))
  for (let n = 0; n <= 10_000; n++) await verify(`${n}`)
  expect(verify('10000')).toBe('10000')
  expect(verify('1')).toBe('1')
  expect(verify('0')).toBeInstanceOf(Promise)
})
