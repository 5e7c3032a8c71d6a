import type { JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import { clientTools, toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import type { Carry, Message, Part } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { assumed, object, optional } from '../../schema/object.ts'
import { int32 } from '../../schema/proto.ts'
import { boolean, fitting, type Infer, json, type Schema, string, struct } from '../../schema/schema.ts'
import { marked } from '../../schema/tagged.ts'
import { carryOf } from '../codec.ts'
import { withoutKeys } from '../part-metadata.ts'
import { id } from '../request-limits.ts'
import { carried, isWrapped, unknownPartOf, wrapUnknownPart } from '../v0.3/parts.ts'
import { metadata, words } from '../v0.3/schemas.ts'

/** What the house keeps in the model for itself, besides what 0.3 keeps. */

const own = carryOf('v0.3-house')

const spokenSchemas = { metadata, extensions: optional(words) }

export function carryingReference(carry: Carry | undefined): Carry {
  return { ...carry, ...own.carrying({ byReference: true }).carry }
}

/** Whether the task that is answered was named only among those that the message refers to. */
export function isByReference({ carry }: SendRequest): boolean {
  return own.carried(carry).byReference === true
}

/** Whether it came in this dialect, or in 0.3, and is passed on. */
export function isAsSent({ carry }: SendRequest): boolean {
  return carried(carry).asSent === true
}

/** Of an event: a chunk of an artifact that has a place instead of an id, in the form of the house. */
export const Chunk = object({
  index: assumed(int32({ min: 0 }), 0),
  part: struct(),
})

/** For 0.3 it is a part of a kind that it does not know, which it keeps whole. */
export function partToStandard(part: unknown): unknown {
  if (!isObject(part)) return part
  const tool = tools.find(({ kind }) => kind === part.kind)
  return tool ? wrapUnknownPart({ kind: tool.kind, ...tool.shape.read(part) }) : part
}

/** What 0.3 made of a part, as everybody has it. */
export function liftPart(part: Part): Part {
  if (!('data' in part) || !isObject(part.data)) return part
  const { kind, metadata, ...data } = part.data
  const tool = isWrapped(part) ? tools.find((each) => each.kind === kind) : undefined
  if (tool) return { data, mediaType: tool.mediaType, ...(isObject(metadata) && { metadata }) }
  // Somebody has written it as data, although it could have been written as the part of a tool.
  return asTool(part) ? asLiteral(part) : part
}

/** What 0.3 writes as a part of the house. */
export function lowerPart(part: Part): Part {
  if (isLiteral(part)) return part
  const tool = asTool(part)
  return tool ? unknownPartOf(tool) : part
}

export function isToolResult(part: Part): boolean {
  return 'data' in part && part.mediaType === toolResult
}

export function messageToStandard(message: unknown): unknown {
  if (!isObject(message)) return message
  const { inputRequest, ...wire } = message
  return inputRequest === undefined && wire.metadata === undefined ? wire : { ...wire, metadata: Asking.read(message) }
}

/** What 0.3 made of a message, as everybody has it. */
export function liftMessage(message: Message): Message {
  const { metadata: wrapped, ...rest } = message
  if (wrapped === undefined) return message
  const words = Words.read(wrapped)
  const lifted = { ...rest, ...spoken(words) }
  // What would not be found again by looking at it is kept beside it.
  return isSame(wordsOf(lifted), words) ? lifted : { ...lifted, ...carryingWords(words) }
}

/** What 0.3 writes as a message of the house. */
export function lowerMessage(message: Message): Message {
  const { metadata, extensions: given, carry, ...rest } = message
  const kept = fitting(Words, carriedWords(carry))
  const words = kept && isSame(spoken(kept), present({ metadata, extensions: given })) ? kept : wordsOf(message)
  const { extensions, ...wrapped } = words
  return {
    ...rest,
    ...(extensions !== undefined && { extensions }),
    ...(Object.keys(wrapped).length > 0 && { metadata: wrapped as JsonObject }),
  }
}

export function messageToHouse(message: unknown): unknown {
  if (!isObject(message) || !isObject(message.metadata)) return message
  const { metadata: wrapped, ...wire } = message
  const { inputRequest, metadata } = Words.read(wrapped)
  return {
    ...wire,
    ...(inputRequest !== undefined && { inputRequest: { kind: 'input-request', ...inputRequest } }),
    ...(metadata !== undefined && { metadata }),
  }
}

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
const AskedInput = object({
  requestId: id,
  prompt: optional(string()),
  sensitive: optional(boolean()),
  tool: optional(string()),
  schema: optional(struct()),
})

export const InputRequest = marked('kind', 'input-request', AskedInput)

const tools: readonly ToolKind[] = [
  { kind: 'tool-use', mediaType: toolUse, shape: ToolUse },
  { kind: 'tool-result', mediaType: toolResult, shape: ToolResult },
]

/** The house has parts of their own for calls of tools and their results. Elsewhere they are data. */

interface ToolKind {
  readonly kind: string
  readonly mediaType: string
  readonly shape: Schema<JsonObject & { readonly metadata?: JsonObject }>
}

function asTool(part: Part): JsonObject | undefined {
  const tool = tools.find(({ mediaType }) => mediaType === part.mediaType)
  if (!tool || !('data' in part) || !isObject(part.data) || part.filename !== undefined) return undefined
  const { metadata } = part
  const read = fitting(tool.shape, metadata === undefined ? part.data : { ...part.data, metadata })
  return read && { kind: tool.kind, ...read }
}

/** A data part that is to stay one, although the house has a part for such data. */
function asLiteral(part: Part): Part {
  return { ...part, ...own.carrying({ literal: true }) }
}

function isLiteral({ carry }: Part): boolean {
  return own.carried(carry).literal === true
}

/** Of a message: where the house has a request, and what becomes of it elsewhere. */
const Asking = object({ inputRequest: optional(InputRequest), ...spokenSchemas })

/** The same, once it is read. */
const Words = object({ inputRequest: optional(AskedInput), ...spokenSchemas })

function spoken({ inputRequest, metadata, extensions }: Said): Spoken {
  if (inputRequest === undefined) return present({ metadata, extensions })
  return {
    metadata: { ...metadata, [clientTools]: inputRequest },
    extensions: [...new Set([...(extensions ?? []), clientTools])],
  }
}

/**
 * A message that asks for input has a member for it in the house. Elsewhere this is an extension, and the request is in
 * the metadata. On the way through 0.3 the metadata holds what the house said in either place, so that both stay apart.
 */
type Said = Infer<typeof Words>

type Spoken = Pick<Message, 'metadata' | 'extensions'>

/** Members that are undefined are left out. */
function present<T extends object>(members: T): T {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as T
}

function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

function wordsOf({ metadata, extensions }: Spoken): Said {
  const asked = metadata?.[clientTools]
  const inputRequest = asked === undefined ? undefined : fitting(AskedInput, asked)
  if (inputRequest === undefined) return present({ metadata, extensions })
  const others = extensions?.filter((extension) => extension !== clientTools)
  return present({
    inputRequest,
    metadata: withoutKeys(metadata, { [clientTools]: asked }),
    extensions: others?.length ? others : undefined,
  })
}

/** What a message of the house said, where its form elsewhere does not tell. */
function carryingWords(words: object): { readonly carry?: Carry } {
  return own.carrying({ words: words as JsonObject })
}

function carriedWords(carry: Carry | undefined): unknown {
  return own.carried(carry).words
}
