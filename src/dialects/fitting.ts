import type { Shape } from './shape.ts'
import { Violation } from './violation.ts'

/** The value as the shape reads it, or nothing if it is something else. */
export function fitting<T>(shape: Shape<T>, value: unknown): T | undefined {
  try {
    return shape.read(value)
  } catch (error) {
    if (error instanceof Violation) return undefined
    throw error
  }
}
