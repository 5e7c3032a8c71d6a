import type { JsonObject } from '../../protocol/model.ts'
import { isObject } from '../is-object.ts'
import type { Shape } from '../shape.ts'
import { messageToHouse, messageToStandard } from './input-request.ts'
import { partToHouse, partToStandard } from './parts.ts'
import { Chunk } from './schemas.ts'
import { walk } from './walk.ts'

/** Whatever the house sends, read as 0.3 has it. */
export const Standard: Shape<unknown> = {
  read: walk({
    part: partToStandard,
    message: messageToStandard,
    // A task has to be accepted before anything can be said of it.
    state: (state) => (state === 'started' ? 'submitted' : state),
  }),
  schema: {},
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
  schema: {},
}

const houseForm = walk({ part: partToHouse, message: messageToHouse, state: (state) => state })

/** What 0.3 would send, as the house has it. */
export function toHouse(wire: JsonObject): JsonObject {
  return houseForm(wire) as JsonObject
}
