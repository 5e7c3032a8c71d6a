import { describe, expect, it } from 'vitest'
import { A2AError, type ErrorCode, invalidParams } from '../../protocol/errors.ts'
import { decodeError, decodeHttpError } from '../errors.ts'
import { encodeError, encodeHttpError, encodeV1_0_0HttpError } from './errors.ts'

const errorInfo = 'type.googleapis.com/google.rpc.ErrorInfo'

describe('encodeError', () => {
  it('an error has the code and the reason of A2A 1.0', () => {
    const named: Partial<Record<ErrorCode, [number, string]>> = {
      'task-not-found': [-32001, 'TASK_NOT_FOUND'],
      'task-not-cancelable': [-32002, 'TASK_NOT_CANCELABLE'],
      'push-not-supported': [-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
      'unsupported-operation': [-32004, 'UNSUPPORTED_OPERATION'],
      'streaming-not-supported': [-32004, 'UNSUPPORTED_OPERATION'],
      'task-ended': [-32004, 'UNSUPPORTED_OPERATION'],
      'content-type-not-supported': [-32005, 'CONTENT_TYPE_NOT_SUPPORTED'],
      'invalid-agent-response': [-32006, 'INVALID_AGENT_RESPONSE'],
      'extended-card-not-configured': [-32007, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'],
      'extension-required': [-32008, 'EXTENSION_SUPPORT_REQUIRED'],
      'version-not-supported': [-32009, 'VERSION_NOT_SUPPORTED'],
    }
    for (const [code, [number, reason]] of Object.entries(named) as [ErrorCode, [number, string]][]) {
      expect(encodeError(new A2AError(code, 'No.'))).toStrictEqual({
        code: number,
        message: expect.stringMatching(/^.+: No\.$/),
        data: [{ '@type': errorInfo, reason, domain: 'a2a-protocol.org' }],
      })
    }
  })

  it('an error that A2A does not define has the domain of Parley', () => {
    expect(encodeError(new A2AError('conflict', 'No.'))).toStrictEqual({
      code: -32602,
      message: 'No.',
      data: [{ '@type': errorInfo, reason: 'CONFLICT', domain: 'parley' }],
    })
  })

  it('an error of JSON-RPC itself has a code and no details', () => {
    const codes: Partial<Record<ErrorCode, number>> = {
      'parse-error': -32700,
      'invalid-request': -32600,
      'method-not-found': -32601,
      'invalid-params': -32602,
      internal: -32603,
    }
    for (const [code, number] of Object.entries(codes) as [ErrorCode, number][]) {
      expect(encodeError(new A2AError(code, 'No.'))).toStrictEqual({
        code: number,
        message: expect.stringMatching(/^.+: No\.$/),
      })
    }
  })

  it('an error has its violations in its details', () => {
    expect(encodeError(invalidParams('pageSize', 'expected 1 to 100, got 150'))).toStrictEqual({
      code: -32602,
      message: 'Invalid parameters: pageSize: expected 1 to 100, got 150',
      data: [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: 'pageSize', description: 'expected 1 to 100, got 150' }],
        },
      ],
    })
  })

  it('an error has its metadata in its details, but never its cause', () => {
    const error = new A2AError('unavailable', 'Later.', {
      metadata: { queue: 'full' },
      retryAfter: 0.1 + 0.2,
      cause: new Error('s3cret'),
    })
    expect(encodeError(error)).toStrictEqual({
      code: -32603,
      message: 'Later.',
      data: [
        { '@type': errorInfo, reason: 'UNAVAILABLE', domain: 'parley', metadata: { queue: 'full' } },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.3s' },
      ],
    })
  })
})

describe('decodeError and decodeHttpError', () => {
  const rateLimited = new A2AError('rate-limited', 'Slow down.', { metadata: { limit: '5' }, retryAfter: 1.5 })
  const wrong = invalidParams('pageSize', 'expected 1 to 100, got 150')

  it('an error is decoded to the same code over JSON-RPC and REST', () => {
    for (const error of [
      rateLimited,
      wrong,
      new A2AError('context-not-found', 'No.'),
      new A2AError('conflict', 'No.'),
    ]) {
      for (const read of [decodeError(encodeError(error)), decodeHttpError(encodeHttpError(error))]) {
        expect(read).toMatchObject({ code: error.code, metadata: error.metadata })
        expect(read.message.endsWith(error.message)).toBe(true)
        expect(read.violations).toEqual(error.violations)
        expect(read.retryAfter).toBe(error.retryAfter)
      }
    }
  })

  it('the reason of an error takes precedence over its number', () => {
    const data = [{ '@type': errorInfo, reason: 'VERSION_NOT_SUPPORTED', domain: 'a2a-protocol.org' }]
    expect(decodeError({ code: -32603, message: 'No.', data }).code).toBe('version-not-supported')
    expect(decodeHttpError({ status: 501, body: { error: { details: data } } }).code).toBe('version-not-supported')
  })

  it('an error without a known reason is identified by its number', () => {
    const data = [{ '@type': errorInfo, reason: 'TASK_NOT_FOUND', domain: 'example.com' }]
    expect(decodeError({ code: -32002, message: 'No.', data }).code).toBe('task-not-cancelable')
    expect(decodeError({ code: -32004, message: 'No.' }).code).toBe('unsupported-operation')
    expect(decodeError({ code: -32602, message: 'No.' }).code).toBe('invalid-params')
    expect(decodeError({ code: 7, message: 'No.' }).code).toBe('internal')
  })

  it('an error with nothing else is identified by its status', () => {
    const statuses: Readonly<Record<number, ErrorCode>> = {
      400: 'invalid-params',
      401: 'unauthenticated',
      404: 'task-not-found',
      409: 'task-not-cancelable',
      418: 'invalid-request',
      429: 'rate-limited',
      500: 'internal',
      503: 'unavailable',
    }
    for (const [status, code] of Object.entries(statuses)) {
      expect(decodeHttpError({ status: Number(status), body: {} })).toMatchObject({
        code,
        message: `The agent answered with an error: ${code}.`,
      })
    }
    expect(decodeHttpError({ status: 200, body: { error: { status: 'UNAUTHENTICATED' } } }).code).toBe(
      'unauthenticated',
    )
  })

  it('a problem as in RFC 9457 is decoded', () => {
    const type = 'https://a2a-protocol.org/errors/task-not-found'
    expect(decodeHttpError({ status: 404, body: { type, title: 'Not Found', detail: 'No task x' } })).toMatchObject({
      code: 'task-not-found',
      message: 'No task x',
    })
  })

  it('a decoded error has the original as its cause', () => {
    const wire = { code: -1, message: 'Odd', data: ['anything', { '@type': 7 }, null] }
    expect(decodeError(wire)).toMatchObject({ code: 'internal', message: 'Odd', cause: wire })
  })
})

it('HTTP errors have the statuses of 1.0.1, or those of 1.0.0 if enabled', () => {
  const statusesOf = (code: ErrorCode, encode = encodeHttpError) => {
    const { status, body } = encode(new A2AError(code, 'No.'))
    return [status, (body.error as { status: string }).status]
  }
  expect(statusesOf('task-not-cancelable')).toEqual([400, 'FAILED_PRECONDITION'])
  expect(statusesOf('task-not-cancelable', encodeV1_0_0HttpError)).toEqual([409, 'FAILED_PRECONDITION'])
  expect(statusesOf('content-type-not-supported', encodeV1_0_0HttpError)[0]).toBe(415)
  expect(statusesOf('invalid-agent-response', encodeV1_0_0HttpError)[0]).toBe(502)
  expect(statusesOf('push-not-supported')).toEqual([400, 'FAILED_PRECONDITION'])
  expect(statusesOf('push-not-supported', encodeV1_0_0HttpError)).toEqual([400, 'UNIMPLEMENTED'])
  expect(statusesOf('task-not-found', encodeV1_0_0HttpError)).toEqual(statusesOf('task-not-found'))
})
