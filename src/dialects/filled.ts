import type { Json, JsonObject } from '../protocol/model.ts'

/** Those members that say something: ProtoJSON leaves out what is empty. */
export function filled(members: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(Object.entries(members).filter((entry): entry is [string, Json] => !isEmpty(entry[1])))
}

function isEmpty(value: Json | undefined): boolean {
  return value === undefined || value === '' || (Array.isArray(value) && value.length === 0)
}
