import { expect, it } from 'vitest'
import { isBeforeSending, networkFailureOf } from './network-failure.ts'

function failed(cause: unknown): TypeError {
  return new TypeError('fetch failed', { cause })
}

function coded(code: string): Error {
  return Object.assign(new Error('x'), { code })
}

it('tells by its causes why a request got no answer, and whether it can have reached anybody', () => {
  const cases = [
    [failed(coded('ECONNREFUSED')), 'connection-refused', true],
    [failed(new AggregateError([coded('ECONNREFUSED'), coded('ETIMEDOUT')])), 'connection-refused', true],
    [failed(coded('ENOTFOUND')), 'name-not-found', true],
    [failed(coded('UND_ERR_CONNECT_TIMEOUT')), 'host-unreachable', true],
    [failed(coded('DEPTH_ZERO_SELF_SIGNED_CERT')), 'certificate', true],
    [failed(coded('ERR_SSL_WRONG_VERSION_NUMBER')), 'not-tls', true],
    [failed(new Error('unknown scheme')), 'bad-url', true],
    [failed(Object.assign(new Error('x'), { name: 'HTTPParserError' })), 'not-http', false],
    [failed(new Error('redirect count exceeded')), 'redirect-loop', false],
    [new TypeError('terminated', { cause: coded('UND_ERR_SOCKET') }), 'connection-lost', false],
    [new TypeError('Failed to fetch'), 'blocked', false],
    ['no error', 'blocked', false],
  ] as const
  for (const [error, failure, isUnsent] of cases) {
    expect(networkFailureOf(error)).toBe(failure)
    expect(isBeforeSending(failure)).toBe(isUnsent)
  }
})

it('does not follow causes in a circle', () => {
  const error = new Error('x')
  error.cause = error
  expect(networkFailureOf(error)).toBe('blocked')
})
