import { decodeError, decodeHttpError } from '../dialects/decode-error.ts'
import type { ClientDialect, ErrorReader } from '../dialects/dialect.ts'
import { A2AError } from '../protocol/errors.ts'

/** Who reads the errors of a dialect. Most have the same; another one is loaded when it is needed. */
export async function errorsOf({ errors }: ClientDialect): Promise<ErrorReader> {
  try {
    return errors ? await errors() : { decodeError, decodeHttpError }
  } catch (cause) {
    const problem = 'The agent told an error, and what is needed to read it could not be loaded.'
    throw new A2AError('unavailable', problem, { cause, reason: 'unexplained' })
  }
}
