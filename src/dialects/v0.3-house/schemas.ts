import { assumed } from '../assumed.ts'
import { id } from '../limits.ts'
import { object, optional } from '../object-shape.ts'
import { int32 } from '../proto-shape.ts'
import { boolean, json, string, struct } from '../shape.ts'
import { marked } from '../tagged-shape.ts'
import { metadata, words } from '../v0.3/schemas.ts'

/** What the house has besides the objects of 0.3. */

export const ToolUse = object({
  toolUseId: id,
  name: string({ min: 1 }),
  arguments: optional(struct()),
  metadata,
})

export const ToolResult = object({
  toolUseId: id,
  result: optional(json()),
  isError: optional(boolean()),
  metadata,
})

/** As it is in the metadata of a message, where everybody else finds it. */
export const AskedInput = object({
  requestId: id,
  prompt: optional(string()),
  sensitive: optional(boolean()),
  tool: optional(string()),
  schema: optional(struct()),
})

export const InputRequest = marked('kind', 'input-request', AskedInput)

const spoken = { metadata, extensions: optional(words) }

/** Of a message: where the house has a request, and what becomes of it elsewhere. */
export const Asking = object({ inputRequest: optional(InputRequest), ...spoken })

/** The same, once it is read. */
export const Words = object({ inputRequest: optional(AskedInput), ...spoken })

/** Of an event: a chunk of an artifact that has a place instead of an id, in the form of the house. */
export const Chunk = object({
  index: assumed(int32({ min: 0 }), 0),
  part: struct(),
})
