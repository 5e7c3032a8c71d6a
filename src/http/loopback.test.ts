import { expect, it } from 'vitest'
import { isLoopback } from './origin.ts'

it.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.8.8.8', '::1', '[::1]', '::ffff:127.0.0.1'])(
  'takes %s for this machine',
  (host) => expect(isLoopback(host)).toBe(true),
)

it.each([
  '0.0.0.0',
  '::',
  '192.168.1.2',
  'example.com',
  '127.0.0.1.example.com',
  'localhost.example.com',
  '',
  '1.127.0.0.1',
])('takes %j for what others can reach', (host) => expect(isLoopback(host)).toBe(false))
