import { int32 } from '../schema/proto.ts'
import { type Schema, string, Violation } from '../schema/schema.ts'

const idText = string({ min: 1, max: 256 })

/** Control characters and half surrogate pairs do not survive every log, header and database. */
const idForm = /^[^\p{Cc}\p{Cs}]*$/u

/** Of lists of words: extensions, output modes, references. */
export const maxWords = 1000

/** The id of a message, a task or a context. */
export const id: Schema<string> = {
  ...idText,
  form: { is: 'text', min: 1, max: 256, pattern: idForm.source },
  read(value) {
    const text = idText.read(value)
    if (!idForm.test(text)) throw new Violation('expected an id, got control characters or half a surrogate pair')
    return text
  },
}

/** What a caller may ask for at the most, in every dialect. Body size and JSON depth are limited before, in `http/`. */

export const maxParts = 1000

export const pageSize = int32({ min: 1, max: 100 })

export const historyLength = int32({ min: 0 })
