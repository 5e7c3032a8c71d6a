import { expect, it } from 'vitest'
import { createTokenCache } from './token-cache.ts'

const later = Date.now() + 60_000

it('verifies once while it lasts, and again afterwards', async () => {
  const verified = createTokenCache<number>()
  let times = 0
  const verify = (until: number | undefined) => async () => ({ value: ++times, ...(until !== undefined && { until }) })
  expect(await verified.get('a', verify(later))).toBe(1)
  expect(verified.get('a', verify(later))).toBe(1)
  expect(await verified.get('b', verify(Date.now() - 1))).toBe(2)
  expect(await verified.get('b', verify(undefined))).toBe(3)
  expect(await verified.get('b', verify(later))).toBe(4)
})

it('remembers no more than ten thousand, and forgets the first of them', async () => {
  const verified = createTokenCache<string>()
  const learn = (name: string) => verified.get(name, async () => ({ value: name, until: later }))
  for (let n = 0; n <= 10_000; n++) await learn(`${n}`)
  expect(learn('10000')).toBe('10000')
  expect(learn('1')).toBe('1')
  expect(learn('0')).toBeInstanceOf(Promise)
})
