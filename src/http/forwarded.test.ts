import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type OriginOptions, originOf } from './origin.ts'

interface Situation extends OriginOptions {
  readonly secure?: boolean
  readonly base?: string
}

function origin(headers: Record<string, string>, { secure = false, base = '', ...options }: Situation = {}): string {
  return originOf({ secure, base, header: (name) => headers[name] }, options)
}

const behindProxy = { trustProxy: true }

test('an explicit public URL wins over everything', () => {
  const headers = { host: 'inner:1', 'x-forwarded-host': 'outer' }
  expect(origin(headers, { publicUrl: 'https://agent.example/a/', base: '/b', ...behindProxy })).toBe(
    'https://agent.example/a',
  )
})

test('without a proxy the connection and its Host are believed', () => {
  expect(origin({ host: 'agent.example:4000' })).toBe('http://agent.example:4000')
  expect(origin({ host: '[::1]:4000' }, { secure: true })).toBe('https://[::1]:4000')
  expect(origin({ host: 'my_agent' }, { base: '/agents/echo' })).toBe('http://my_agent/agents/echo')
  expect(origin({ host: 'inner', forwarded: 'host=evil', 'x-forwarded-host': 'evil' })).toBe('http://inner')
})

describe('behind a trusted proxy', () => {
  test.each([
    ['proto=https;host=outer.example', 'https://outer.example'],
    ['for=192.0.2.60;Proto=HTTPS;By=203.0.113.43; Host="outer.example:8443"', 'https://outer.example:8443'],
    ['for="[2001:db8::1]:4711";host=outer.example, host=middle;proto=https', 'http://outer.example'],
    ['host="out\\er.example"', 'http://outer.example'],
    ['host="a, b";proto=https', 'https://inner'],
    ['for=192.0.2.60', 'http://inner'],
    ['proto=gopher;host=outer.example', 'http://outer.example'],
    ['garbage', 'http://inner'],
    ['', 'http://inner'],
  ])('Forwarded: %s means %s', (forwarded, expected) => {
    expect(origin({ host: 'inner', forwarded }, behindProxy)).toBe(expected)
  })

  test('X-Forwarded headers count where Forwarded is silent', () => {
    const headers = {
      host: 'inner:4000',
      'x-forwarded-host': 'outer.example, middle',
      'x-forwarded-proto': 'https, http',
      'x-forwarded-prefix': '/agents/',
    }
    expect(origin(headers, behindProxy)).toBe('https://outer.example/agents')
    expect(origin({ ...headers, forwarded: 'host=other.example' }, behindProxy)).toBe('https://other.example/agents')
  })

  test('a prefix that is not a plain path is left out', () => {
    for (const prefix of ['//evil.example', '/a b', 'agents', '/a?b', '/"<script>', '/']) {
      expect(origin({ host: 'inner', 'x-forwarded-prefix': prefix }, behindProxy)).toBe('http://inner')
    }
  })
})

describe('a hostile host', () => {
  const examples = [
    'evil.example/path',
    'user@evil.example',
    'evil example',
    'evil\r\nx: y',
    'evil\u0000',
    'evil#',
    'evil?x',
    'evil\\',
    '"evil"',
    '<script>',
    'a:b',
    'a:99999',
    'a:80:80',
    '[::1',
    '[::g]',
    '::1',
    '.evil',
    'münchen.example',
    'a,b',
    '999.999.999.999',
    'x'.repeat(300),
    '',
  ]

  test.each(examples)('%j is never echoed', (host) => {
    expect(origin({ host })).toBe('http://localhost')
    expect(origin({ 'x-forwarded-host': host.replaceAll(',', ' ') }, behindProxy)).toBe('http://localhost')
  })

  test('whatever comes, the origin is a URL of that origin and nothing more', () => {
    const hostile = fc.string({ unit: fc.constantFrom(...'ab1é.-_:;,=@/\\?#%[]"<> \t\r\n\0', 'host=', 'proto=https') })
    fc.assert(
      fc.property(hostile, hostile, (host, forwarded) => {
        const found = origin({ host, forwarded, 'x-forwarded-host': forwarded }, behindProxy)
        const url = new URL(found)
        expect([url.pathname, url.search, url.hash, url.username]).toEqual(['/', '', '', ''])
      }),
    )
  })

  test('a missing host is localhost', () => {
    expect(origin({})).toBe('http://localhost')
  })
})
