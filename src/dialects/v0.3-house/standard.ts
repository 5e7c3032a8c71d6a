import type { JsonObject, Message, Part } from '../../protocol/model.ts'
import { isObject } from '../is-object.ts'
import type { Shape } from '../shape.ts'
import { liftMessage, lowerMessage, messageToHouse, messageToStandard } from './input-request.ts'
import { liftPart, lowerPart, partToStandard } from './parts.ts'
import { Chunk } from './schemas.ts'
import { type Change, walk } from './walk.ts'

/** Whatever the house sends, read as 0.3 has it. */
export const Standard: Shape<unknown> = {
  read: walk({
    part: partToStandard,
    message: messageToStandard,
    // A task has to be accepted before anything can be said of it.
    state: (state) => (state === 'started' ? 'submitted' : state),
  }),
  form: { is: 'json' },
}

/** An event of the house, read as 0.3 has it: there chunks of artifacts have an id, and their flags are the event's. */
export const StandardEvent: Shape<unknown> = {
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

const unchanged: Change = (value) => value

const lifted = walk({
  part: (part) => liftPart(part as Part),
  message: (message) => liftMessage(message as Message),
  state: unchanged,
})
const lowered = walk({
  part: (part) => lowerPart(part as Part),
  message: (message) => lowerMessage(message as Message),
  state: unchanged,
})
const houseForm = walk({ part: unchanged, message: messageToHouse, state: unchanged })

/** What 0.3 made of something of the house, as everybody has it. */
export function lift<T>(read: T): T {
  return lifted(read) as T
}

/** What 0.3 can write so that `toHouse` makes the form of the house of it. */
export function lower<T>(told: T): T {
  return lowered(told) as T
}

/** What 0.3 would send, as the house has it. */
export function toHouse(wire: JsonObject): JsonObject {
  return houseForm(wire) as JsonObject
}
