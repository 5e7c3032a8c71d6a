import type { Json, JsonObject } from '../base/json.ts'
import { isObject } from '../base/json.ts'
import type { Carry, TaskState, TaskStatus } from '../protocol/model.ts'
import type { DialectName } from './dialect.ts'

/** To be spread into what carries it: nothing, if there is nothing to keep. */
export type ToCarry = (kept: JsonObject) => { readonly carry?: Carry }

export type ReadCarry = (carry: Carry | undefined) => JsonObject

/** How a dialect keeps in the model what only it has a word for. */
export function carryCodec(name: DialectName): { readonly toCarry: ToCarry; readonly readCarry: ReadCarry } {
  return {
    toCarry: (kept) => (Object.keys(kept).length === 0 ? {} : { carry: { [name]: kept } }),
    readCarry(carry) {
      const kept = carry?.[name]
      return isObject(kept) ? kept : {}
    },
  }
}

/** How far a task is, a transport that numbers its events knows: on the wire of every dialect it is 0. */
export const generation = 0

/** What a status on the wire says besides its message. */
export interface BareStatus {
  /** Some agents lose track of a task, and say so. */
  readonly state: TaskState | 'unknown'
  readonly timestamp?: string
}

/** An object of the wire while it is built: always afresh, so that nothing of the model gets there by accident. */
export type Draft = Record<string, Json>

/** An agent that does not know what became of a task has at least not ended it. */
export function decodeBareStatus({ state, timestamp }: BareStatus, toCarry: ToCarry): TaskStatus {
  const kept: Draft = {}
  if (state === 'unknown') kept.state = state
  if (timestamp === unknownMoment) kept.timestamp = timestamp
  return {
    state: state === 'unknown' ? 'working' : state,
    timestamp: timestamp ?? unknownMoment,
    ...toCarry(kept),
  }
}

export function encodeBareStatus({ state, timestamp, carry }: TaskStatus, readCarry: ReadCarry): BareStatus {
  const kept = readCarry(carry)
  return {
    state: state === 'working' && kept.state === 'unknown' ? 'unknown' : state,
    timestamp: timestamp === unknownMoment && kept.timestamp === undefined ? undefined : timestamp,
  }
}

/** Those members that are there. */
export function withoutUndefined(members: Members): JsonObject {
  return chosen(members, (value) => value !== undefined)
}

/** Those members that say something: ProtoJSON leaves out what is empty. */
export function withoutEmpty(members: Members): JsonObject {
  return chosen(
    members,
    (value) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
}

/** Stands in the model for the moment of a status that names none, and is written again only if it was named. */
const unknownMoment = '1970-01-01T00:00:00.000Z'

type Members = Readonly<Record<string, Json | undefined>>

function chosen(members: Members, isChosen: (value: Json | undefined) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(members).filter((entry): entry is [string, Json] => isChosen(entry[1])))
}
