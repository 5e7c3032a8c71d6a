import { int32 } from '../schema/proto.ts'
import { type Schema, Violation } from '../schema/schema.ts'
import { string } from '../schema/values.ts'

// Limits of requests in every dialect. `http/` limits body size and JSON depth before.

export const maxParts = 1000

/** The maximum length of other lists: extensions, output modes, references. */
export const maxListItems = 1000

export const pageSize = int32({ min: 1, max: 100 })

export const historyLength = int32({ min: 0 })

const idString = string({ min: 1, max: 256 })

/** Control characters and unpaired surrogates do not survive every log, header and database. */
const idPattern = /^[^\p{Cc}\p{Cs}]*$/u

/** The id of a message, a task or a context. */
export const id: Schema<string> = {
  ...idString,
  node: { is: 'string', min: 1, max: 256, pattern: idPattern.source },
  read(value) {
    const text = idString.read(value)
    if (!idPattern.test(text)) throw new Violation('expected an id, got control characters or half a surrogate pair')
    return text
  },
}
