import { expect, it } from 'vitest'
import { networkFailureOf, neverConnected, permanentFailures } from './network-failure.ts'

function fetchError(cause: unknown): TypeError {
  return new TypeError('fetch failed', { cause })
}

function errorWithCode(code: string): Error {
  return Object.assign(new Error('x'), { code })
}

it('a network failure is classified by its causes, and by whether the request may be sent again', () => {
  const cases = [
    [fetchError(errorWithCode('ECONNREFUSED')), 'connection-refused', 'unsent'],
    [
      fetchError(new AggregateError([errorWithCode('ECONNREFUSED'), errorWithCode('ETIMEDOUT')])),
      'connection-refused',
      'unsent',
    ],
    [fetchError(errorWithCode('ENOTFOUND')), 'name-not-found', 'unsent'],
    [fetchError(errorWithCode('UND_ERR_CONNECT_TIMEOUT')), 'host-unreachable', 'unsent'],
    [fetchError(errorWithCode('DEPTH_ZERO_SELF_SIGNED_CERT')), 'certificate', 'permanent'],
    [fetchError(errorWithCode('ERR_SSL_WRONG_VERSION_NUMBER')), 'not-tls', 'permanent'],
    [fetchError(new Error('unknown scheme')), 'bad-url', 'permanent'],
    [fetchError(Object.assign(new Error('x'), { name: 'HTTPParserError' })), 'not-http', 'uncertain'],
    [fetchError(new Error('redirect count exceeded')), 'redirect-loop', 'permanent'],
    [new TypeError('terminated', { cause: errorWithCode('UND_ERR_SOCKET') }), 'connection-lost', 'uncertain'],
    [new TypeError('Failed to fetch'), 'blocked', 'uncertain'],
    ['no error', 'blocked', 'uncertain'],
  ] as const
  for (const [error, failure, kind] of cases) {
    expect(networkFailureOf(error)).toBe(failure)
    expect(neverConnected.has(failure)).toBe(kind === 'unsent')
    expect(permanentFailures.has(failure)).toBe(kind === 'permanent')
  }
})

it('a circular chain of causes ends', () => {
  const error = new Error('x')
  error.cause = error
  expect(networkFailureOf(error)).toBe('blocked')
})
