import { invalidParams } from '../protocol/errors.ts'
import type { Shape } from './shape.ts'
import { Violation } from './violation.ts'

/** Absent params are empty ones, so that what is missing is named. */
export function readParams<T>(shape: Shape<T>, params: unknown = {}): T {
  try {
    return shape.read(params)
  } catch (error) {
    throw error instanceof Violation ? invalidParams(error.path || 'params', error.message) : error
  }
}
