import { A2AError, invalidParams } from '../protocol/errors.ts'
import { type Schema, Violation } from '../schema/schema.ts'

/** Reads the params of a request. Absent params count as an empty object, so that the error names the missing member. */
export function readParams<T>(schema: Schema<T>, params: unknown = {}): T {
  return readOrThrow(schema, params, ({ path, message }) => invalidParams(path || 'params', message))
}

/** Reads the answer of an agent. The error has no violations: those are about the fields of the caller's request. */
export function readResult<T>(schema: Schema<T>, result: unknown): T {
  return readOrThrow(
    schema,
    result,
    ({ path, message }) => new A2AError('invalid-agent-response', `${path || 'result'}: ${message}`),
  )
}

/** Repairs known deviations from a schema. */
export type Clean = (wire: unknown) => unknown

export type LenientRead = <T>(schema: Schema<T>, wire: unknown, clean: Clean) => T

/** Returns a reader that cleans a value only if the schema rejects it, so that valid values cost nothing more. */
export function lenientReader(read: <T>(schema: Schema<T>, wire: unknown) => T): LenientRead {
  return (schema, wire, clean) => {
    try {
      return read(schema, wire)
    } catch {
      return read(schema, clean(wire))
    }
  }
}

/** Returns a decoder that tries the lenient one only if the strict one throws. */
export function withFallback<T>(strict: (wire: unknown) => T, lenient: (wire: unknown) => T): (wire: unknown) => T {
  return (wire) => {
    try {
      return strict(wire)
    } catch {
      return lenient(wire)
    }
  }
}

function readOrThrow<T>(schema: Schema<T>, value: unknown, toError: (violation: Violation) => A2AError): T {
  try {
    return schema.read(value)
  } catch (error) {
    throw error instanceof Violation ? toError(error) : error
  }
}
