import { defined, isObject, type JsonObject } from '../../base/json.ts'
import type { Message, Part } from '../../protocol/model.ts'
import { type Schema, withPath } from '../../schema/schema.ts'
import {
  Chunk,
  messageFromStandard,
  messageToHouseWire,
  messageToStandard,
  messageToStandardWire,
  partFromStandard,
  partToStandard,
  partToStandardWire,
} from './parts.ts'

// The house dialect is 0.3 with translations before and after:
// - in: house wire → `StandardWire` → 0.3 wire → decoder of 0.3 → `fromStandard` → model
// - out: model → `toStandard` → encoder of 0.3 → 0.3 wire → `toHouseWire` → house wire

/** Any house object, read as the 0.3 object. */
export const StandardWire: Schema<unknown> = {
  read: translator({
    part: partToStandardWire,
    message: messageToStandardWire,
    // A started task is at least submitted, the first state of 0.3.
    state: (state) => (state === 'started' ? 'submitted' : state),
  }),
  node: { is: 'json' },
}

/** A house event, read as the 0.3 event, in which artifact chunks have an id, and the event has their flags. */
export const StandardWireEvent: Schema<unknown> = {
  read(event) {
    if (!isObject(event) || event.part === undefined) return StandardWire.read(event)
    const { index, part } = Chunk.read(event)
    const { append, index: _, ...chunk } = part
    const { part: __, index: ___, ...update } = event
    const artifact = { artifactId: `artifact-${index}`, parts: [chunk] }
    return StandardWire.read({ ...update, artifact, ...defined({ append }) })
  },
  node: { is: 'json' },
}

/** Turns what 0.3 decoded from `StandardWire` into the model. */
export function fromStandard<T>(decoded: T): T {
  return translateFromStandard(decoded) as T
}

/** Turns a model object into one that 0.3 encodes so that `toHouseWire` can read it. */
export function toStandard<T>(value: T): T {
  return translateToStandard(value) as T
}

/** Turns what 0.3 encoded after `toStandard` into the house object. */
export function toHouseWire(wire: JsonObject): JsonObject {
  return translateToHouseWire(wire) as JsonObject
}

type Translate = (value: unknown) => unknown

/** How the pieces of two dialects differ whose objects are the same otherwise. */
interface Translations {
  readonly part: Translate
  readonly message: Translate
  readonly state: Translate
  readonly status?: Translate
}

/**
 * Translates all pieces of an object: params, results and events, on the wire or in the model. No two of their members
 * have the same name and different meanings. Malformed members stay as they are; the schemas reject them.
 */
function translator({ part, message, state, status: translateStatus = unchanged }: Translations): Translate {
  const parts = inList(part)
  const artifact = inObject({ parts })
  const messageWithParts: Translate = (value) => message(artifact(value))
  const messages = inList(messageWithParts)
  const artifacts = inList(artifact)
  const members = inObject({ state, message: messageWithParts })
  const status: Translate = (value) => translateStatus(members(value))
  const task = inObject({ status, history: messages, artifacts })
  const tasks = inList(task)
  const anything = inObject({ message: messageWithParts, status, history: messages, artifacts, artifact, task, tasks })
  return (value) => (isObject(value) && value.parts !== undefined ? messageWithParts(value) : anything(value))
}

function inList(translate: Translate): Translate {
  return (value) => (Array.isArray(value) ? value.map((item, index) => atPath(index, translate, item)) : value)
}

function inObject(translations: Readonly<Record<string, Translate>>): Translate {
  const members = Object.entries(translations)
  return (value) => {
    if (!isObject(value)) return value
    const translated: Record<string, unknown> = {}
    for (const [name, translate] of members) {
      if (value[name] !== undefined) translated[name] = atPath(name, translate, value[name])
    }
    return { ...value, ...translated }
  }
}

/** Adds the path to a violation. */
function atPath(segment: string | number, translate: Translate, value: unknown): unknown {
  try {
    return translate(value)
  } catch (error) {
    throw withPath(error, segment)
  }
}

/** A function declaration, because the constants above use it. */
function unchanged(value: unknown): unknown {
  return value
}

const translateFromStandard = translator({
  part: (part) => partFromStandard(part as Part),
  message: (message) => messageFromStandard(message as Message),
  state: unchanged,
})

const translateToStandard = translator({
  part: (part) => partToStandard(part as Part),
  message: (message) => messageToStandard(message as Message),
  state: unchanged,
  // The encoder of 0.3 writes states as they are.
  status: (status) => (isObject(status) && status.isStarted ? { ...status, state: 'started' } : status),
})

const translateToHouseWire = translator({ part: unchanged, message: messageToHouseWire, state: unchanged })
