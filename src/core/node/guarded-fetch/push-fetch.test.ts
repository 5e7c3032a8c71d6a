import { expect, test } from 'vitest'
import { createPushFetch, type PushFetchOptions } from './push-fetch.ts'

const resolve = async () => [{ address: '93.184.215.14', family: 4 }]
const check = (url: string, options: PushFetchOptions = {}) =>
  createPushFetch({ resolve, ...options })
    .check(url)
    .then(
      () => 'allowed',
      ({ reason }) => reason,
    )

test('a push fetch uses https only and does not call this machine', async () => {
  expect(await check('https://example.com/hook')).toBe('allowed')
  expect(await check('http://example.com/hook')).toBe('scheme')
  expect(await check('https://127.0.0.1/hook')).toBe('loopback')
})

test('a push fetch that may call this machine also uses http', async () => {
  const local = { loopback: 'allow' } as const
  expect(await check('http://example.com/hook', local)).toBe('allowed')
  expect(await check('http://127.0.0.1/hook', local)).toBe('allowed')
  expect(await check('http://10.0.0.1/hook', local)).toBe('private')
  expect(await check('http://127.0.0.1/hook', { ...local, schemes: ['https'] })).toBe('scheme')
})
