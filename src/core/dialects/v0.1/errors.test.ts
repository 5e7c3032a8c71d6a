import { describe, expect, it } from 'vitest'
import type { Json } from '../../base/json.ts'
import { A2AError, type ErrorCode, invalidParams } from '../../protocol/errors.ts'
import { decodeError, decodeHttpError, encodeError, encodeHttpError } from './errors.ts'

const errorTable: readonly [ErrorCode, number, string, number][] = [
  ['parse-error', -32700, 'Invalid JSON payload', 400],
  ['invalid-request', -32600, 'Request payload validation error', 400],
  ['method-not-found', -32601, 'Method not found', 404],
  ['invalid-params', -32602, 'Invalid parameters', 400],
  ['internal', -32603, 'Internal error', 500],
  ['task-not-found', -32001, 'Task not found', 404],
  ['task-not-cancelable', -32002, 'Task cannot be canceled', 409],
  ['push-not-supported', -32003, 'Push Notification is not supported', 400],
  ['unsupported-operation', -32004, 'This operation is not supported', 400],
  ['content-type-not-supported', -32005, 'Incompatible content types', 415],
  ['streaming-not-supported', -32006, 'Streaming is not supported', 400],
  ['unauthenticated', -32007, 'Authentication required', 401],
  ['forbidden', -32008, 'Authorization failed', 403],
  ['task-ended', -32009, 'Invalid task state', 409],
  ['rate-limited', -32010, 'Rate limit exceeded', 429],
  ['unavailable', -32011, 'Resource unavailable', 503],
]

describe('errors', () => {
  it('an error has the 0.1 number and fixed message, and its own message in the data', () => {
    for (const [code, number, message, status] of errorTable) {
      const error = new A2AError(code, 'No.')
      const wire = { code: number, message, data: { detail: 'No.' } }
      expect(encodeError(error)).toStrictEqual(wire)
      expect(encodeHttpError(error)).toStrictEqual({ status, body: { jsonrpc: '2.0', id: null, error: wire } })
      expect(decodeError(wire)).toMatchObject({ code, message: 'No.' })
      expect(decodeHttpError(encodeHttpError(error))).toMatchObject({ code, message: 'No.' })
    }
  })

  it('an error that 0.1 does not have gets the nearest number', () => {
    const nearest: readonly [ErrorCode, number][] = [
      ['invalid-agent-response', -32603],
      ['extended-card-not-configured', -32004],
      ['extension-required', -32004],
      ['version-not-supported', -32004],
      ['timeout', -32011],
      ['payload-too-large', -32600],
      ['conflict', -32602],
      ['input-timeout', -32050],
      ['tool-failed', -32051],
      ['context-not-found', -32052],
    ]
    for (const [code, number] of nearest) expect(encodeError(new A2AError(code, 'No.')).code).toBe(number)
  })

  it('an error has violations and metadata in its data, but never its cause', () => {
    const { violations } = invalidParams('id', 'expected a string')
    const options = { violations, metadata: { queue: 'full' }, retryAfter: 1.5, cause: new Error('s3cret') }
    const wire = encodeError(new A2AError('unavailable', 'Later.', options))
    expect(wire.data).toStrictEqual({
      detail: 'Later.',
      violations: [{ field: 'id', description: 'expected a string' }],
      metadata: { queue: 'full' },
      retryAfter: 1.5,
    })
    const { violations: read, metadata, retryAfter } = decodeError(wire)
    expect({ violations: read, metadata, retryAfter }).toStrictEqual({
      violations,
      metadata: { queue: 'full' },
      retryAfter: 1.5,
    })
  })

  it('an error of another agent is decoded as far as possible', () => {
    expect(decodeError({ code: -32001, message: 'Task not found' })).toMatchObject({
      code: 'task-not-found',
      message: 'Task not found',
    })
    const oddities: readonly Json[] = [null, 'x', { detail: 5 }, { violations: [{}] }]
    for (const data of oddities) {
      const wire = { code: -32099, message: 'Odd', data }
      expect(decodeError(wire)).toMatchObject({ code: 'internal', message: 'Odd', cause: wire })
    }
  })

  it('an error that is not JSON-RPC is decoded by its HTTP status', () => {
    expect(decodeHttpError({ status: 401, body: {} }).code).toBe('unauthenticated')
    expect(decodeHttpError({ status: 503, body: { message: 'Later.', code: 503 } })).toMatchObject({
      code: 'unavailable',
      message: 'Later.',
    })
  })
})
