import { isObject, type Json, type JsonObject } from '../base/json.ts'
import type { Carry, TaskState, TaskStatus } from '../protocol/model.ts'
import type { DialectName } from './dialect.ts'

/** A wire object under construction. Always a new object, so that no other member of the model gets onto the wire. */
export type Draft = Record<string, Json>

/** The generation of decoded tasks and events. Only transports that number events know the actual one. */
export const unknownGeneration = 0

/** How a dialect keeps in the model what only it can express. */
export interface CarryCodec {
  readonly toCarry: ToCarry
  readonly readCarry: ReadCarry
}

/** Returns a `carry` member to be spread into an object of the model, or nothing if `extras` is empty. */
export type ToCarry = (extras: JsonObject) => { readonly carry?: Carry }

/** Returns the extras in a `carry`. */
export type ReadCarry = (carry: Carry | undefined) => JsonObject

export function carryCodec(name: DialectName): CarryCodec {
  return {
    toCarry: (extras) => (Object.keys(extras).length === 0 ? {} : { carry: { [name]: extras } }),
    readCarry(carry) {
      const extras = carry?.[name]
      return isObject(extras) ? extras : {}
    },
  }
}

/** The timestamp of a status without one. It is written only if it was received. */
const unknownTimestamp = '1970-01-01T00:00:00.000Z'

/** A status on the wire, without its message. */
export interface BareStatus {
  /** `unknown` if the agent has lost track of the task. */
  readonly state: TaskState | 'unknown'
  readonly timestamp?: string
}

/** An unknown state becomes `working`: the agent has not ended the task. */
export function decodeBareStatus({ state, timestamp }: BareStatus, toCarry: ToCarry): TaskStatus {
  const extras: Draft = {}
  if (state === 'unknown') extras.state = state
  if (timestamp === unknownTimestamp) extras.timestamp = timestamp
  return {
    state: state === 'unknown' ? 'working' : state,
    timestamp: timestamp ?? unknownTimestamp,
    ...toCarry(extras),
  }
}

export function encodeBareStatus({ state, timestamp, carry }: TaskStatus, readCarry: ReadCarry): BareStatus {
  const extras = readCarry(carry)
  return {
    state: state === 'working' && extras.state === 'unknown' ? 'unknown' : state,
    timestamp: timestamp === unknownTimestamp && extras.timestamp === undefined ? undefined : timestamp,
  }
}

export function withoutUndefined(members: Members): JsonObject {
  return filterMembers(members, (value) => value !== undefined)
}

/** Also removes empty strings and lists, as ProtoJSON does. */
export function withoutEmpty(members: Members): JsonObject {
  return filterMembers(
    members,
    (value) => value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0),
  )
}

type Members = Readonly<Record<string, Json | undefined>>

function filterMembers(members: Members, isKept: (value: Json | undefined) => boolean): JsonObject {
  return Object.fromEntries(Object.entries(members).filter((entry): entry is [string, Json] => isKept(entry[1])))
}
