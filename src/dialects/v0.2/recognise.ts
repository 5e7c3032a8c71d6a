import type { Proposal } from '../dialect.ts'
import { isObject } from '../is-object.ts'

/** The examples of 0.2.0 and 0.2.1 have parts that say by `type` what they are, as those of 0.1. */
export function recognises({ params }: Proposal): boolean {
  const message = isObject(params) ? (params.message ?? params) : undefined
  const parts = isObject(message) ? message.parts : undefined
  return (
    Array.isArray(parts) && parts.some((part) => isObject(part) && part.kind === undefined && part.type !== undefined)
  )
}
