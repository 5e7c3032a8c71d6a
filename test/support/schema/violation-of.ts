import type { Schema } from '../../../src/core/schema/schema.ts'
import { Violation } from '../../../src/core/schema/schema.ts'

/** The path and message of the violation that reading a value throws. */
export function violationOf(schema: Schema<unknown>, value: unknown): string {
  try {
    schema.read(value)
  } catch (error) {
    if (error instanceof Violation) return error.path === '' ? error.message : `${error.path}: ${error.message}`
    throw error
  }
  throw new Error('expected a violation')
}
