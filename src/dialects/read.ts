import { A2AError, invalidParams } from '../protocol/errors.ts'
import { type Schema, Violation } from '../schema/schema.ts'

/** Absent params are empty ones, so that what is missing is named. */
export function readParams<T>(schema: Schema<T>, params: unknown = {}): T {
  return readOr(schema, params, ({ path, message }) => invalidParams(path || 'params', message))
}

/** What an agent answers. It is no fault of our caller, whose fields are not the ones to blame. */
export function readResult<T>(schema: Schema<T>, result: unknown): T {
  return readOr(
    schema,
    result,
    ({ path, message }) => new A2AError('invalid-agent-response', `${path || 'result'}: ${message}`),
  )
}

/** Puts right what somebody sends although the schema does not allow it, as far as that can be done. */
export type Clean = (wire: unknown) => unknown

export type LenientRead = <T>(schema: Schema<T>, wire: unknown, clean: Clean) => T

/** Cleans only what cannot be read as it is: who sends it properly pays nothing for the others. */
export function lenientReader(read: Read): LenientRead {
  return (schema, wire, clean) => {
    try {
      return read(schema, wire)
    } catch {
      return read(schema, clean(wire))
    }
  }
}

/** Reads by the schema first, so that a well-formed value costs nothing more; a value that breaks it is read leniently. */
export function withFallback<T>(strict: (wire: unknown) => T, lenient: (wire: unknown) => T): (wire: unknown) => T {
  return (wire) => {
    try {
      return strict(wire)
    } catch {
      return lenient(wire)
    }
  }
}

function readOr<T>(schema: Schema<T>, value: unknown, failure: (violation: Violation) => A2AError): T {
  try {
    return schema.read(value)
  } catch (error) {
    throw error instanceof Violation ? failure(error) : error
  }
}

type Read = <T>(schema: Schema<T>, wire: unknown) => T
