import { expect, it } from 'vitest'
import { isBeforeSending, networkFailureOf } from './network-failure.ts'

function fetchError(cause: unknown): TypeError {
  return new TypeError('fetch failed', { cause })
}

function errorWithCode(code: string): Error {
  return Object.assign(new Error('x'), { code })
}

it('a network failure is classified by its causes, and by whether the request may have reached a server', () => {
  const cases = [
    [fetchError(errorWithCode('ECONNREFUSED')), 'connection-refused', true],
    [
      fetchError(new AggregateError([errorWithCode('ECONNREFUSED'), errorWithCode('ETIMEDOUT')])),
      'connection-refused',
      true,
    ],
    [fetchError(errorWithCode('ENOTFOUND')), 'name-not-found', true],
    [fetchError(errorWithCode('UND_ERR_CONNECT_TIMEOUT')), 'host-unreachable', true],
    [fetchError(errorWithCode('DEPTH_ZERO_SELF_SIGNED_CERT')), 'certificate', true],
    [fetchError(errorWithCode('ERR_SSL_WRONG_VERSION_NUMBER')), 'not-tls', true],
    [fetchError(new Error('unknown scheme')), 'bad-url', true],
    [fetchError(Object.assign(new Error('x'), { name: 'HTTPParserError' })), 'not-http', false],
    [fetchError(new Error('redirect count exceeded')), 'redirect-loop', false],
    [new TypeError('terminated', { cause: errorWithCode('UND_ERR_SOCKET') }), 'connection-lost', false],
    [new TypeError('Failed to fetch'), 'blocked', false],
    ['no error', 'blocked', false],
  ] as const
  for (const [error, failure, isUnsent] of cases) {
    expect(networkFailureOf(error)).toBe(failure)
    expect(isBeforeSending(failure)).toBe(isUnsent)
  }
})

it('a circular chain of causes ends', () => {
  const error = new Error('x')
  error.cause = error
  expect(networkFailureOf(error)).toBe('blocked')
})
