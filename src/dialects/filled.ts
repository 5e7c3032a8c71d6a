import type { Json, JsonObject } from '../protocol/model.ts'

type Members = Readonly<Record<string, Json | undefined>>

/** Those members that are there. */
export function present(members: Members): JsonObject {
  return chosen(members, (value) => value !== undefined)
}

/** Those members that say something: ProtoJSON leaves out what is empty. */
export function filled(members: Members): JsonObject {
  return chosen(
    members,
    (value) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
}

function chosen(members: Members, isChosen: (value: Json | undefined) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(members).filter((entry): entry is [string, Json] => isChosen(entry[1])))
}
