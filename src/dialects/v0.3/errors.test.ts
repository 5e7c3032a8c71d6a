import { describe, expect, it } from 'vitest'
import { A2AError, type ErrorCode, invalidParams } from '../../protocol/errors.ts'
import { decodeError, encodeError, encodeHttpError, kinds } from './errors.ts'

const errorInfo = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', domain: 'a2a-protocol.org' }

describe('an error', () => {
  it('has the code of 0.3, and the details of 1.0', () => {
    expect(encodeError(new A2AError('task-not-found', 'No.', { metadata: { taskId: 'x' } }))).toStrictEqual({
      code: -32001,
      message: 'No.',
      data: { details: [{ ...errorInfo, reason: 'TASK_NOT_FOUND', metadata: { taskId: 'x' } }] },
    })
    expect(encodeError(new A2AError('parse-error', 'No.'))).toStrictEqual({ code: -32700, message: 'No.' })
  })

  it('that came after 0.3 is an operation that is not supported', () => {
    for (const code of [
      'task-ended',
      'streaming-not-supported',
      'extension-required',
      'version-not-supported',
    ] as const) {
      expect(encodeError(new A2AError(code, 'No.')).code).toBe(-32004)
    }
  })

  it('over REST has the members that any of the SDKs looks for', () => {
    const { status, body } = encodeHttpError(new A2AError('task-not-found', 'No.'))
    const details = [{ ...errorInfo, reason: 'TASK_NOT_FOUND' }]
    expect(status).toBe(404)
    expect(body).toStrictEqual({
      code: -32001,
      message: 'No.',
      type: 'TaskNotFoundError',
      data: { details },
      error: { code: 404, status: 'NOT_FOUND', message: 'No.', details },
    })
  })
})

describe('an error that is read', () => {
  it('is what it was, also if others have the same number', () => {
    const alike: ErrorCode[] = ['streaming-not-supported', 'task-ended']
    for (const code of Object.keys(kinds) as ErrorCode[]) {
      const read = decodeError(encodeError(new A2AError(code, 'No.', { metadata: { k: 'v' } })))
      expect(read.code).toBe(alike.includes(code) ? 'unsupported-operation' : code)
      expect(read.message).toBe('No.')
    }
  })

  it('names the fields that are wrong', () => {
    expect(decodeError(encodeError(invalidParams('id', 'expected a string'))).violations).toEqual([
      { field: 'id', description: 'expected a string' },
    ])
  })

  it('is told by its number where there is nothing else', () => {
    expect(decodeError({ code: -32007, message: 'No.' }).code).toBe('extended-card-not-configured')
    expect(decodeError({ code: -32004, message: 'No.', data: 'Not here' }).code).toBe('unsupported-operation')
    expect(decodeError({ code: -32602, message: 'No.', data: { taskId: 'x' } }).code).toBe('invalid-params')
  })

  it('of a number that means nothing in 0.3 is internal, and keeps what came', () => {
    const wire = { code: -32009, message: 'No.', data: [1] }
    const error = decodeError(wire)
    expect(error.code).toBe('internal')
    expect(error.cause).toBe(wire)
  })
})
