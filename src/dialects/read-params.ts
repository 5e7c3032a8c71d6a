import { A2AError, invalidParams } from '../protocol/errors.ts'
import type { Shape } from './shape.ts'
import { Violation } from './violation.ts'

/** Absent params are empty ones, so that what is missing is named. */
export function readParams<T>(shape: Shape<T>, params: unknown = {}): T {
  return readOr(shape, params, ({ path, message }) => invalidParams(path || 'params', message))
}

/** What an agent answers. It is no fault of our caller, whose fields are not the ones to blame. */
export function readResult<T>(shape: Shape<T>, result: unknown): T {
  return readOr(
    shape,
    result,
    ({ path, message }) => new A2AError('invalid-agent-response', `${path || 'result'}: ${message}`),
  )
}

function readOr<T>(shape: Shape<T>, value: unknown, failure: (violation: Violation) => A2AError): T {
  try {
    return shape.read(value)
  } catch (error) {
    throw error instanceof Violation ? failure(error) : error
  }
}
