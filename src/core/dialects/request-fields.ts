import { isObject } from '../base/json.ts'
import { type Schema, wrongValue } from '../schema/schema.ts'
import { int32 } from '../schema/values.ts'

// What the requests of all dialects share. Only servers read requests.

/** The kinds of parts in 0.2 and 0.3. */
const knownKinds: readonly unknown[] = ['text', 'file', 'data']

const knownKindsText = `"kind" to be one of ${knownKinds.join(', ')}`

// Limits of requests in every dialect. `http/` limits body size and JSON depth before.

export const maxParts = 1000

export const pageSize = int32({ min: 1, max: 100 })

export const historyLength = int32({ min: 0 })

/**
 * Rejects sent parts of an unknown `kind` in versions that do not have the member. Its other members would be read without
 * what the kind says about them.
 */
export function withKnownKind<T>(part: Schema<T>): Schema<T> {
  return {
    ...part,
    read(value) {
      const kind = isObject(value) ? value.kind : undefined
      if (kind !== undefined && kind !== null && !knownKinds.includes(kind)) throw wrongValue(knownKindsText, kind)
      return part.read(value)
    },
  }
}
