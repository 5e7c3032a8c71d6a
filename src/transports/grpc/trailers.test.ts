import { expect, test } from 'vitest'
import { v1_0 } from '../../dialects/v1.0/server.ts'
import { A2AError, invalidParams } from '../../protocol/errors.ts'
import { errorTrailers } from './answer-call.ts'
import { decodeMessage } from './codec.ts'
import { messageNamed } from './proto-registry.ts'
import type { Metadata } from './rpc.ts'
import { errorEncoder, StatusError } from './status.ts'

const encodeError = errorEncoder(v1_0)

function detailsOf(trailers: Metadata): unknown {
  const bytes = Buffer.from(trailers['grpc-status-details-bin'] ?? '', 'base64')
  return decodeMessage(messageNamed('google.rpc.Status'), bytes)
}

test('an error of A2A is told by its status, its message and its reason', () => {
  const trailers = errorTrailers(new A2AError('task-not-found', 'There is no task 7.'), encodeError)
  expect(trailers).toMatchObject({ 'grpc-status': '5', 'grpc-message': 'There is no task 7.' })
  expect(detailsOf(trailers)).toEqual({
    code: 5,
    message: 'There is no task 7.',
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
        reason: 'TASK_NOT_FOUND',
        domain: 'a2a-protocol.org',
      },
    ],
  })
})

test('wrong fields are told by name, and how long to wait in seconds', () => {
  const wrong = errorTrailers(invalidParams('message.parts', 'expected a list'), encodeError)
  expect(detailsOf(wrong)).toMatchObject({
    details: [
      {
        '@type': 'type.googleapis.com/google.rpc.BadRequest',
        fieldViolations: [{ field: 'message.parts', description: 'expected a list' }],
      },
    ],
  })
  const busy = errorTrailers(new A2AError('rate-limited', 'Slow down.', { retryAfter: 1.5 }), encodeError)
  expect(busy['grpc-status']).toBe('8')
  expect(detailsOf(busy)).toMatchObject({
    details: [
      { reason: 'RATE_LIMITED', domain: 'parley' },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1.500s' },
    ],
  })
})

test('an error of gRPC itself has no details', () => {
  const trailers = errorTrailers(new StatusError('UNIMPLEMENTED', 'No.'), encodeError)
  expect(trailers).toEqual({ 'grpc-status': '12', 'grpc-message': 'No.' })
})

test('a message can be any text, and comes back as it was', () => {
  const text = 'a%b\r\nö 😀 ~'
  const { 'grpc-message': encoded = '' } = errorTrailers(new StatusError('INTERNAL', text), encodeError)
  expect(encoded).toMatch(/^[ -~]*$/)
  expect(decodeURIComponent(encoded)).toBe(text)
})

test('trailers stay short enough for every client, whatever the error says', () => {
  const violations = Array.from({ length: 500 }, (_, n) => ({ field: `f${n}`, description: 'x'.repeat(50) }))
  const metadata = { huge: 'x'.repeat(100_000) }
  for (const options of [{ violations }, { metadata }, { violations, metadata, retryAfter: 1 }]) {
    const trailers = errorTrailers(new A2AError('rate-limited', '語'.repeat(10_000), options), encodeError)
    const bytes = Object.entries(trailers).reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0)
    expect(bytes).toBeLessThan(8_192)
    expect(trailers['grpc-status']).toBe('8')
  }
  const told = errorTrailers(new A2AError('rate-limited', 'Slow down.', { violations }), encodeError)
  expect(detailsOf(told)).toMatchObject({ details: [{ reason: 'RATE_LIMITED' }] })
})
