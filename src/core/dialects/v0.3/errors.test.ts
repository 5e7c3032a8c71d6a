import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json.ts'
import { A2AError, type ErrorCode, invalidParams } from '../../protocol/errors.ts'
import { decodeError, decodeHttpError } from '../errors.ts'
import { encodeError, encodeHttpError, kinds } from './errors.ts'

const errorInfo = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', domain: 'a2a-protocol.org' }

const localized = { '@type': 'type.googleapis.com/google.rpc.LocalizedMessage', locale: 'en' }

describe('encodeError', () => {
  it('an error has the code of 0.3 and the details of 1.0', () => {
    expect(encodeError(new A2AError('task-not-found', 'No.', { metadata: { taskId: 'x' } }))).toStrictEqual({
      code: -32001,
      message: 'Task not found',
      data: [
        { ...errorInfo, reason: 'TASK_NOT_FOUND', metadata: { taskId: 'x' } },
        { ...localized, message: 'No.' },
      ],
    })
    expect(encodeError(new A2AError('parse-error', 'No.'))).toStrictEqual({
      code: -32700,
      message: 'Invalid JSON payload: No.',
    })
  })

  it('an error that 0.3 does not have is an unsupported operation', () => {
    for (const code of [
      'task-ended',
      'streaming-not-supported',
      'extension-required',
      'version-not-supported',
    ] as const) {
      expect(encodeError(new A2AError(code, 'No.')).code).toBe(-32004)
    }
  })

  it('an error over REST has the members that each SDK reads', () => {
    const { status, body } = encodeHttpError(new A2AError('task-not-found', 'No.'))
    const details = [{ ...errorInfo, reason: 'TASK_NOT_FOUND' }]
    expect(status).toBe(404)
    expect(body).toStrictEqual({
      code: -32001,
      message: 'Task not found: No.',
      type: 'TaskNotFoundError',
      data: [...details, { ...localized, message: 'No.' }],
      error: { code: 404, status: 'NOT_FOUND', message: 'Task not found: No.', details },
    })
  })
})

describe('decodeError', () => {
  it('an error is decoded to the same code, even if others share its number', () => {
    const alike: ErrorCode[] = ['streaming-not-supported', 'task-ended']
    for (const code of Object.keys(kinds) as ErrorCode[]) {
      const read = decodeError(encodeError(new A2AError(code, 'No.', { metadata: { k: 'v' } })))
      expect(read.code).toBe(alike.includes(code) ? 'unsupported-operation' : code)
      expect(read.message).toMatch(/^(.+: )?No\.$/)
    }
  })

  it('an error has the violations of its details', () => {
    expect(decodeError(encodeError(invalidParams('id', 'expected a string'))).violations).toEqual([
      { field: 'id', description: 'expected a string' },
    ])
  })

  it('an error without details is identified by its number', () => {
    expect(decodeError({ code: -32007, message: 'No.' }).code).toBe('extended-card-not-configured')
    expect(decodeError({ code: -32004, message: 'No.', data: 'Not here' }).code).toBe('unsupported-operation')
    expect(decodeError({ code: -32602, message: 'No.', data: { taskId: 'x' } }).code).toBe('invalid-params')
  })

  it('an error with an unknown number is internal, and keeps the original', () => {
    const wire = { code: -32042, message: 'No.', data: [1] }
    const error = decodeError(wire)
    expect(error.code).toBe('internal')
    expect(error.cause).toBe(wire)
  })
})

describe('decodeHttpError', () => {
  it('an error over REST is decoded to the same code', () => {
    const errors = [
      new A2AError('task-ended', 'Over.'),
      new A2AError('unavailable', 'Later.', { retryAfter: 2 }),
      invalidParams('name', 'expected a name'),
    ]
    for (const error of errors) {
      const read = decodeHttpError(encodeHttpError(error))
      expect(read.message.endsWith(error.message)).toBe(true)
      expect(read.retryAfter).toBe(error.retryAfter)
      expect(read.violations).toEqual(error.violations)
    }
  })

  it('an error over REST is decoded in the format of every SDK', () => {
    const bodies: readonly [number, JsonObject, ErrorCode][] = [
      [409, { code: -32002, message: 'No.' }, 'task-not-cancelable'],
      [500, { jsonrpc: '2.0', id: null, error: { code: -32001, message: 'No.' } }, 'task-not-found'],
      [500, { message: 'No.', type: 'TaskNotFoundError' }, 'task-not-found'],
      [501, { message: 'No.' }, 'unsupported-operation'],
      [500, { error: { code: 500, message: 'No.' } }, 'internal'],
      [400, { error: { status: 'NOT_FOUND', message: 'No.' } }, 'task-not-found'],
    ]
    for (const [status, body, code] of bodies) {
      expect(decodeHttpError({ status, body })).toMatchObject({ code, message: 'No.' })
    }
  })
})
