import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isLoopback, type OriginOptions, originOf } from './origin.ts'

interface RequestContext extends OriginOptions {
  readonly secure?: boolean
  readonly base?: string
}

function origin(
  headers: Record<string, string>,
  { secure = false, base = '', ...options }: RequestContext = {},
): string {
  return originOf({ secure, base, header: (name) => headers[name] }, options)
}

const behindProxy = { trustProxy: true }

it('an explicit public URL takes precedence over all headers', () => {
  const headers = { host: 'inner:1', 'x-forwarded-host': 'outer' }
  expect(origin(headers, { publicUrl: 'https://agent.example/a/', base: '/b', ...behindProxy })).toBe(
    'https://agent.example/a',
  )
})

it('without a proxy, the origin comes from the connection and its Host header', () => {
  expect(origin({ host: 'agent.example:4000' })).toBe('http://agent.example:4000')
  expect(origin({ host: '[::1]:4000' }, { secure: true })).toBe('https://[::1]:4000')
  expect(origin({ host: 'my_agent' }, { base: '/agents/echo' })).toBe('http://my_agent/agents/echo')
  expect(origin({ host: 'inner', forwarded: 'host=evil', 'x-forwarded-host': 'evil' })).toBe('http://inner')
})

describe('behind a trusted proxy', () => {
  it.each([
    ['proto=https;host=outer.example', 'https://outer.example'],
    ['for=192.0.2.60;Proto=HTTPS;By=203.0.113.43; Host="outer.example:8443"', 'https://outer.example:8443'],
    ['for="[2001:db8::1]:4711";host=outer.example, host=middle;proto=https', 'http://outer.example'],
    ['host="out\\er.example"', 'http://outer.example'],
    ['host="a, b";proto=https', 'https://inner'],
    ['for=192.0.2.60', 'http://inner'],
    ['proto=gopher;host=outer.example', 'http://outer.example'],
    ['garbage', 'http://inner'],
    ['', 'http://inner'],
  ])('Forwarded: %s yields %s', (forwarded, expected) => {
    expect(origin({ host: 'inner', forwarded }, behindProxy)).toBe(expected)
  })

  it('X-Forwarded headers apply where Forwarded has no value', () => {
    const headers = {
      host: 'inner:4000',
      'x-forwarded-host': 'outer.example, middle',
      'x-forwarded-proto': 'https, http',
      'x-forwarded-prefix': '/agents/',
    }
    expect(origin(headers, behindProxy)).toBe('https://outer.example/agents')
    expect(origin({ ...headers, forwarded: 'host=other.example' }, behindProxy)).toBe('https://other.example/agents')
  })

  it('a prefix that is not a plain path is ignored', () => {
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

  it.each(examples)('%j is never echoed', (host) => {
    expect(origin({ host })).toBe('http://localhost')
    expect(origin({ 'x-forwarded-host': host.replaceAll(',', ' ') }, behindProxy)).toBe('http://localhost')
  })

  it('any input yields a bare origin URL', () => {
    const hostile = fc.string({ unit: fc.constantFrom(...'ab1é.-_:;,=@/\\?#%[]"<> \t\r\n\0', 'host=', 'proto=https') })
    fc.assert(
      fc.property(hostile, hostile, (host, forwarded) => {
        const result = origin({ host, forwarded, 'x-forwarded-host': forwarded }, behindProxy)
        const url = new URL(result)
        expect([url.pathname, url.search, url.hash, url.username]).toEqual(['/', '', '', ''])
      }),
    )
  })

  it('a missing host becomes localhost', () => {
    expect(origin({})).toBe('http://localhost')
  })
})

describe('the loopback host', () => {
  it.each(['localhost', 'LOCALHOST', '127.0.0.1', '127.8.8.8', '::1', '[::1]', '::ffff:127.0.0.1'])(
    'includes %s',
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
  ])('the loopback host does not include %j', (host) => expect(isLoopback(host)).toBe(false))
})
