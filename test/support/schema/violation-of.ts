import type { Schema } from '../../../src/schema/schema.ts'
import { Violation } from '../../../src/schema/schema.ts'

/** What is wrong with the value, and where. */
export function violationOf(schema: Schema<unknown>, value: unknown): string {
  try {
    schema.read(value)
  } catch (error) {
    if (error instanceof Violation) return error.path === '' ? error.message : `${error.path}: ${error.message}`
    throw error
  }
  throw new Error('expected a violation')
}
