import { expect, it } from 'vitest'
import { A2AError, invalidParams } from '../../protocol/errors.ts'
import { v0_3Proto, v0_3ProtoClient } from './index.ts'

const { encodeHttpError } = v0_3Proto
const { decodeHttpError } = v0_3ProtoClient

it('an error over REST has what every SDK looks for', () => {
  expect(encodeHttpError(new A2AError('task-not-found', 'No task x.'))).toMatchObject({
    status: 404,
    body: {
      code: -32001,
      message: 'No task x.',
      type: 'TaskNotFoundError',
      error: { code: 404, status: 'NOT_FOUND', details: [{ reason: 'TASK_NOT_FOUND' }] },
    },
  })
})

it('an error comes back as it went', () => {
  const errors = [
    new A2AError('task-ended', 'Over.'),
    new A2AError('unavailable', 'Later.', { retryAfter: 2 }),
    invalidParams('name', 'expected a name'),
  ]
  for (const error of errors) {
    const read = decodeHttpError(encodeHttpError(error))
    expect(read.message).toBe(error.message)
    expect(read.retryAfter).toBe(error.retryAfter)
    expect(read.violations).toEqual(error.violations)
  }
})

it('an error is understood in the form of every SDK', () => {
  expect(decodeHttpError({ status: 409, body: { code: -32002, message: 'No.' } }).code).toBe('task-not-cancelable')
  expect(decodeHttpError({ status: 500, body: { message: 'No.', type: 'TaskNotFoundError' } })).toMatchObject({
    code: 'task-not-found',
    message: 'No.',
  })
  expect(decodeHttpError({ status: 501, body: { message: 'No.' } })).toMatchObject({
    code: 'unsupported-operation',
    message: 'No.',
  })
  expect(decodeHttpError({ status: 500, body: { error: { code: 500, message: 'Oh.' } } })).toMatchObject({
    code: 'internal',
    message: 'Oh.',
  })
  expect(decodeHttpError({ status: 400, body: { error: { status: 'NOT_FOUND', message: 'No.' } } }).code).toBe(
    'task-not-found',
  )
})
