import { isObject, type Json, type JsonObject } from '../base/json.ts'
import { A2AError, invalidParams } from '../protocol/errors.ts'
import type { Carry, TaskState } from '../protocol/model.ts'
import type { SendConfiguration } from '../protocol/service.ts'
import { type Schema, Violation } from '../schema/schema.ts'
import { string } from '../schema/values.ts'
import type { DialectName } from './versions.ts'

// What the codecs of all dialects share.

const idString = string({ min: 1, max: 256 })

/** Control characters and unpaired surrogates do not survive every log, header and database. */
const idPattern = /^[^\p{Cc}\p{Cs}]*$/u

/** The metadata key of a state that the dialect does not have. */
const stateKey = 'a2a.state'

/** Reads the params of a request. Absent params count as an empty object, so that the error names the missing member. */
export function readParams<T>(schema: Schema<T>, params: unknown = {}): T {
  return readOrThrow(schema, params, ({ path, message }) => invalidParams(path || 'params', message))
}

/** Reads the answer of an agent. The error has no violations: those are about the fields of the caller's request. */
export function readResult<T>(schema: Schema<T>, result: unknown): T {
  return readOrThrow(
    schema,
    result,
    ({ path, message }) => new A2AError('invalid-agent-response', `${path || 'result'}: ${message}`),
  )
}

/** Returns a decoder that tries the lenient one only if the strict one throws. */
export function withFallback<T>(strict: (wire: unknown) => T, lenient: (wire: unknown) => T): (wire: unknown) => T {
  return (wire) => {
    try {
      return strict(wire)
    } catch {
      return lenient(wire)
    }
  }
}

/** The maximum length of lists in messages: extensions, output modes, references. */
export const maxListItems = 1000

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

/** A state, and the metadata of the task or event in that state. */
export interface StateFields<S extends TaskState> {
  readonly state: S
  readonly metadata?: JsonObject
}

/** What is written in place of each state that a dialect does not have, and the name of the state in the metadata. */
export type Substitutes<S extends TaskState> = Readonly<
  Record<S, { readonly wireState: Exclude<TaskState, S>; readonly name: string }>
>

/** Replaces a state that the dialect does not have, and writes it into the metadata. */
export function encodeState<S extends TaskState>(
  substitutes: Substitutes<S>,
  { state, metadata }: StateFields<TaskState>,
): StateFields<Exclude<TaskState, S>> {
  const isSubstituted = (name: TaskState): name is S => Object.hasOwn(substitutes, name)
  if (!isSubstituted(state)) return { state: state as Exclude<TaskState, S>, metadata }
  const { wireState, name } = substitutes[state]
  return { state: wireState, metadata: { ...metadata, [stateKey]: name } }
}

/** Undoes `encodeState`. */
export function decodeState<S extends TaskState>(
  substitutes: Substitutes<S>,
  { state, metadata }: StateFields<TaskState>,
): StateFields<TaskState> {
  const name = metadata?.[stateKey]
  if (name === undefined) return { state, metadata }
  const substituted = Object.keys(substitutes) as S[]
  const actual = substituted.find((key) => substitutes[key].wireState === state && substitutes[key].name === name)
  if (actual === undefined) return { state, metadata }
  return { state: actual, metadata: withoutKeys(metadata, { [stateKey]: name }) }
}

/** The name of a state in a list request, for versions whose lists cannot be filtered by `unknown`. */
export function encodeStateFilter(
  state: TaskState,
  names: Readonly<Record<Exclude<TaskState, 'unknown'>, string>>,
): string {
  if (state !== 'unknown') return names[state]
  throw new A2AError('unsupported-operation', 'The protocol version of this agent cannot list tasks by state unknown.')
}

/** Throws if the sender requires a revision, in dialects that cannot: the agent would accept the message in any case. */
export function rejectRevision(configuration: SendConfiguration | undefined): void {
  if (configuration?.ifRevision === undefined) return
  throw new A2AError('unsupported-operation', 'ifGeneration needs an agent that speaks A2A 1.1, and this one does not.')
}

/** The members that are not empty: ProtoJSON leaves out empty strings and lists. */
export function withoutEmpty(members: Members): JsonObject {
  const isSet = (value: Json | undefined) =>
    value !== undefined && value !== '' && !(Array.isArray(value) && value.length === 0)
  return Object.fromEntries(Object.entries(members).filter((entry): entry is [string, Json] => isSet(entry[1])))
}

/** Removes the keys that have a value. Metadata that becomes empty did not exist before `withKeys`. */
export function withoutKeys(metadata: JsonObject | undefined, keys: Members): JsonObject | undefined {
  const removed = Object.keys(keys).filter((key) => keys[key] !== undefined)
  if (metadata === undefined || removed.length === 0) return metadata
  const rest = Object.entries(metadata).filter(([key]) => !removed.includes(key))
  return rest.length === 0 ? undefined : Object.fromEntries(rest)
}

function readOrThrow<T>(schema: Schema<T>, value: unknown, toError: (violation: Violation) => A2AError): T {
  try {
    return schema.read(value)
  } catch (error) {
    throw error instanceof Violation ? toError(error) : error
  }
}

export type Members = Readonly<Record<string, Json | undefined>>
