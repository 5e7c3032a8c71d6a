import { expect, it } from 'vitest'
import { callerNetwork } from './caller-address.ts'

function networkOf(headers: Readonly<Record<string, string>>, trustProxy = true, address?: string) {
  return callerNetwork({ header: (name) => headers[name], address: () => address }, { trustProxy })
}

it('the network of a caller is that of its connection unless a proxy is trusted', () => {
  const headers = { 'x-forwarded-for': '192.0.2.1' }
  expect(networkOf(headers, false, '198.51.100.7')).toBe('198.51.100.7')
  expect(networkOf(headers, true, '198.51.100.7')).toBe('192.0.2.1')
  expect(networkOf({}, true, '198.51.100.7')).toBe('198.51.100.7')
  expect(networkOf({}, true)).toBeUndefined()
})

it.each([
  ['an address that the caller sent before the one of the proxy', { 'x-forwarded-for': '10.9.9.9, 192.0.2.1' }],
  ['a port', { 'x-forwarded-for': '192.0.2.1:4711' }],
  ['the standard header', { forwarded: 'for=10.9.9.9;proto=http, for="192.0.2.1:4711";proto=https' }],
  ['both headers', { forwarded: 'for=192.0.2.1', 'x-forwarded-for': '10.9.9.9' }],
  ['an IPv4 address in IPv6', { 'x-forwarded-for': '::ffff:192.0.2.1' }],
])('the address of the proxy counts with %s', (_, headers) => {
  expect(networkOf(headers)).toBe('192.0.2.1')
})

it('a proxy that hides the address leaves that of the connection', () => {
  expect(networkOf({ forwarded: 'for=unknown' }, true, '198.51.100.7')).toBe('198.51.100.7')
  expect(networkOf({ 'x-forwarded-for': '' }, true, '198.51.100.7')).toBe('198.51.100.7')
})

it('IPv6 addresses of one network are one', () => {
  const one = networkOf({}, false, '2001:db8:1:2::1')
  expect(networkOf({}, false, '2001:db8:1:2:ffff::9')).toBe(one)
  expect(networkOf({ forwarded: 'for="[2001:db8:1:2::7]:4711"' })).toBe(one)
  expect(networkOf({}, false, '2001:db8:1:3::1')).not.toBe(one)
})
