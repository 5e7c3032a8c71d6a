import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { grpcIncoming } from '../../../../test/support/grpc/grpc-incoming.ts'
import { v1_0 } from '../../dialects/v1.0/server.ts'
import { A2AError, invalidParams } from '../../protocol/errors.ts'
import { errorTrailers, startDeadline } from './answer-call.ts'
import { decodeMessage } from './codec.ts'
import { messageNamed } from './proto-registry.ts'
import type { Metadata } from './rpc.ts'
import { errorEncoder, StatusError } from './status.ts'

describe('startDeadline', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** A call with this `grpc-timeout`. */
  function start(timeout?: string, signal = new AbortController().signal) {
    const headers: Record<string, string> = timeout === undefined ? {} : { 'grpc-timeout': timeout }
    return startDeadline(grpcIncoming({ path: '/', headers, signal }))
  }

  test('a call without grpc-timeout has only the signal of its caller', () => {
    const { signal } = new AbortController()
    const deadline = start(undefined, signal)
    expect(deadline.incoming.signal).toBe(signal)
    expect(deadline.hasPassed()).toBe(false)
  })

  test.each([
    ['2H', 7_200_000],
    ['3M', 180_000],
    ['5S', 5_000],
    ['250m', 250],
    ['5000u', 5],
    ['99999999n', 99],
  ])('a grpc-timeout of %s is %i milliseconds', (timeout, milliseconds) => {
    const deadline = start(timeout)
    vi.advanceTimersByTime(milliseconds - 1)
    expect(deadline.hasPassed()).toBe(false)
    vi.advanceTimersByTime(1)
    expect(deadline.hasPassed()).toBe(true)
    expect(deadline.incoming.signal.aborted).toBe(true)
  })

  test('the longest grpc-timeout does not fire at once', () => {
    const deadline = start('99999999H')
    vi.advanceTimersByTime(86_400_000)
    expect(deadline.hasPassed()).toBe(false)
  })

  test('a caller that disconnects aborts the call before its deadline', () => {
    const caller = new AbortController()
    const deadline = start('1S', caller.signal)
    caller.abort(new Error('gone'))
    expect(deadline.incoming.signal.reason).toEqual(new Error('gone'))
    expect(deadline.hasPassed()).toBe(false)
    const late = start('1S', caller.signal)
    expect(late.incoming.signal.aborted).toBe(true)
  })

  test('a limit rejects when work outlasts the deadline', async () => {
    const deadline = start('1S')
    const work = deadline.limit(new Promise(() => {}))
    vi.advanceTimersByTime(1_000)
    await expect(work).rejects.toMatchObject({ code: 'timeout' })
  })

  test('a limit settles like work that ends in time', async () => {
    const deadline = start('1S')
    expect(await deadline.limit(Promise.resolve(1))).toBe(1)
    await expect(deadline.limit(Promise.reject(new Error('no')))).rejects.toThrow('no')
  })

  test('a released deadline does not pass', () => {
    const deadline = start('1S')
    deadline.release()
    vi.advanceTimersByTime(2_000)
    expect(deadline.hasPassed()).toBe(false)
    expect(vi.getTimerCount()).toBe(0)
  })

  test.each(['', '1', 'S', '1s', '-1S', '1.5S', '123456789S', '1S '])(
    'an invalid grpc-timeout of %j is ignored',
    (timeout) => {
      const deadline = start(timeout)
      vi.advanceTimersByTime(10_000)
      expect(deadline.hasPassed()).toBe(false)
    },
  )
})

describe('errorTrailers', () => {
  const encodeError = errorEncoder(v1_0)

  function detailsOf(trailers: Metadata): unknown {
    const bytes = Buffer.from(trailers['grpc-status-details-bin'] ?? '', 'base64')
    return decodeMessage(messageNamed('google.rpc.Status'), bytes)
  }

  test('trailers carry the status, the message and the reason of an A2A error', () => {
    const trailers = errorTrailers(new A2AError('task-not-found', 'There is no task 7.'), encodeError)
    expect(trailers).toMatchObject({ 'grpc-status': '5', 'grpc-message': 'Task not found: There is no task 7.' })
    expect(detailsOf(trailers)).toEqual({
      code: 5,
      message: 'Task not found: There is no task 7.',
      details: [
        {
          '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
          reason: 'TASK_NOT_FOUND',
          domain: 'a2a-protocol.org',
        },
      ],
    })
  })

  test('details name the invalid fields, and the retry delay in seconds', () => {
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

  test('grpc-message carries any text as printable ASCII', () => {
    const text = 'a%b\r\nö 😀 ~'
    const { 'grpc-message': encoded = '' } = errorTrailers(new StatusError('INTERNAL', text), encodeError)
    expect(encoded).toMatch(/^[ -~]*$/)
    expect(decodeURIComponent(encoded)).toBe(text)
  })

  test('trailers stay short enough for every client, however long the error is', () => {
    const violations = Array.from({ length: 500 }, (_, n) => ({ field: `f${n}`, description: 'x'.repeat(50) }))
    const metadata = { huge: 'x'.repeat(100_000) }
    for (const options of [{ violations }, { metadata }, { violations, metadata, retryAfter: 1 }]) {
      const trailers = errorTrailers(new A2AError('rate-limited', '語'.repeat(10_000), options), encodeError)
      const bytes = Object.entries(trailers).reduce((sum, [name, value]) => sum + name.length + value.length + 32, 0)
      expect(bytes).toBeLessThan(8_192)
      expect(trailers['grpc-status']).toBe('8')
    }
    const shortened = errorTrailers(new A2AError('rate-limited', 'Slow down.', { violations }), encodeError)
    expect(detailsOf(shortened)).toMatchObject({ details: [{ reason: 'RATE_LIMITED' }] })
  })
})
