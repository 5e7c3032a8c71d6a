import type { Json, JsonObject } from '../../protocol/model.ts'

/**
 * What 0.1 has no member for stands in the metadata beside, under a name of its own, and is taken out again on the
 * way back. A mark that is undefined is none.
 */
type Marks = Readonly<Record<string, Json | undefined>>

export function withMarks(metadata: JsonObject | undefined, marks: Marks): JsonObject | undefined {
  const added = Object.entries(marks).filter((mark): mark is [string, Json] => mark[1] !== undefined)
  return added.length === 0 ? metadata : { ...metadata, ...Object.fromEntries(added) }
}

/** Metadata that had nothing but marks was not there before. */
export function withoutMarks(metadata: JsonObject | undefined, marks: Marks): JsonObject | undefined {
  if (metadata === undefined) return undefined
  const taken = Object.keys(marks).filter((name) => marks[name] !== undefined)
  if (taken.length === 0) return metadata
  const rest = Object.entries(metadata).filter(([name]) => !taken.includes(name))
  return rest.length === 0 ? undefined : Object.fromEntries(rest)
}

/** To be spread into what has metadata: nothing, if there is none. */
export function beside(metadata: JsonObject | undefined): { readonly metadata?: JsonObject } {
  return metadata === undefined ? {} : { metadata }
}
