import { afterEach, expect, test, vi } from 'vitest'
import { silentLogger } from '../../../test/support/logger.ts'
import { createPushFetch } from './push-fetch.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

const resolve = async () => [{ address: '93.184.215.14', family: 4 }]
const check = (url: string) =>
  createPushFetch({ resolve, logger: silentLogger })
    .check(url)
    .then(
      () => 'allowed',
      ({ reason }) => reason,
    )

test('a push fetch in production uses https only and never calls this machine', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  expect(await check('https://example.com/hook')).toBe('allowed')
  expect(await check('http://example.com/hook')).toBe('scheme')
  expect(await check('https://127.0.0.1/hook')).toBe('loopback')
})

test('a push fetch in development accepts http and this machine', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  expect(await check('http://example.com/hook')).toBe('allowed')
  expect(await check('http://127.0.0.1/hook')).toBe('allowed')
  expect(await check('http://10.0.0.1/hook')).toBe('private')
})
