import type { JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { Message, Part } from '../../protocol/model.ts'
import { placed, type Schema } from '../../schema/schema.ts'
import {
  Chunk,
  liftMessage,
  liftPart,
  lowerMessage,
  lowerPart,
  messageToHouse,
  messageToStandard,
  partToStandard,
} from './parts.ts'

/** Whatever the house sends, read as 0.3 has it. */
export const Standard: Schema<unknown> = {
  read: translator({
    part: partToStandard,
    message: messageToStandard,
    // A task has to be accepted before anything can be said of it.
    state: (state) => (state === 'started' ? 'submitted' : state),
  }),
  form: { is: 'json' },
}

/** An event of the house, read as 0.3 has it: there chunks of artifacts have an id, and their flags are the event's. */
export const StandardEvent: Schema<unknown> = {
  read(event) {
    if (!isObject(event) || event.part === undefined) return Standard.read(event)
    const { index, part } = Chunk.read(event)
    const { append, index: _, ...chunk } = part
    const { part: __, index: ___, ...update } = event
    const artifact = { artifactId: `artifact-${index}`, parts: [chunk] }
    return Standard.read({ ...update, artifact, ...(append !== undefined && { append }) })
  },
  form: { is: 'json' },
}

/** What 0.3 made of something of the house, as everybody has it. */
export function fromHouse<T>(read: T): T {
  return lifted(read) as T
}

/** What 0.3 can write so that `toHouse` makes the form of the house of it. */
export function toStandard<T>(told: T): T {
  return lowered(told) as T
}

/** What 0.3 would send, as the house has it. */
export function toHouse(wire: JsonObject): JsonObject {
  return houseForm(wire) as JsonObject
}

export type Change = (wire: unknown) => unknown

/** How the pieces of two dialects differ that have the same objects otherwise. */
export interface Translations {
  readonly part: Change
  readonly message: Change
  readonly state: Change
}

/**
 * From one of the two to the other, for whatever has such pieces in it: params, results and events of 0.3, and of the
 * model, have no two members of one name that are different things. What is not where it should be is left for others
 * to refuse.
 */
function translator({ part, message, state }: Translations): Change {
  const parts = inList(part)
  const artifact = inObject({ parts })
  const ownMessage: Change = (wire) => message(artifact(wire))
  const messages = inList(ownMessage)
  const artifacts = inList(artifact)
  const status = inObject({ state, message: ownMessage })
  const task = inObject({ status, history: messages, artifacts })
  const tasks = inList(task)
  const anything = inObject({ message: ownMessage, status, history: messages, artifacts, artifact, task, tasks })
  return (wire) => (isObject(wire) && wire.parts !== undefined ? ownMessage(wire) : anything(wire))
}

function inList(change: Change): Change {
  return (wire) => (Array.isArray(wire) ? wire.map((each, index) => at(index, change, each)) : wire)
}

function at(segment: string | number, change: Change, wire: unknown): unknown {
  try {
    return change(wire)
  } catch (error) {
    throw placed(error, segment)
  }
}

function inObject(changes: Readonly<Record<string, Change>>): Change {
  const members = Object.entries(changes)
  return (wire) => {
    if (!isObject(wire)) return wire
    const changed: Record<string, unknown> = {}
    for (const [name, change] of members) if (wire[name] !== undefined) changed[name] = at(name, change, wire[name])
    return { ...wire, ...changed }
  }
}

const unchanged: Change = (value) => value

const lifted = translator({
  part: (part) => liftPart(part as Part),
  message: (message) => liftMessage(message as Message),
  state: unchanged,
})

const lowered = translator({
  part: (part) => lowerPart(part as Part),
  message: (message) => lowerMessage(message as Message),
  state: unchanged,
})

const houseForm = translator({ part: unchanged, message: messageToHouse, state: unchanged })
