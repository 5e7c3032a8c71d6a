import { afterEach, expect, it, vi } from 'vitest'
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
      () => 'fine',
      ({ reason }) => reason,
    )

it('asks only over https and never this machine, outside development', async () => {
  vi.stubEnv('NODE_ENV', 'production')
  expect(await check('https://example.com/hook')).toBe('fine')
  expect(await check('http://example.com/hook')).toBe('scheme')
  expect(await check('https://127.0.0.1/hook')).toBe('loopback')
})

it('takes http and this machine in development', async () => {
  vi.stubEnv('NODE_ENV', 'development')
  expect(await check('http://example.com/hook')).toBe('fine')
  expect(await check('http://127.0.0.1/hook')).toBe('fine')
  expect(await check('http://10.0.0.1/hook')).toBe('private')
})
