import { decodeError, decodeHttpError } from '../dialects/decode-error.ts'
import type { ClientDialect, ErrorReader } from '../dialects/dialect.ts'
import { loaded } from '../protocol/loaded.ts'

/** Who reads the errors of a dialect. Most have the same; another one is loaded when it is needed. */
export async function errorsOf({ errors }: ClientDialect): Promise<ErrorReader> {
  return errors
    ? await loaded('read the error that the agent told', errors(), 'unexplained')
    : { decodeError, decodeHttpError }
}
