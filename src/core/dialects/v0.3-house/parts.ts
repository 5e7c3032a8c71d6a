import { defined, isObject, type JsonObject } from '../../base/json.ts'
import { clientTools, toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import type { Carry, Message, Part } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { type Infer, type Schema, tryRead } from '../../schema/schema.ts'
import { taggedAs } from '../../schema/unions.ts'
import { boolean, defaultsTo, int32, json, object, optional, string, struct } from '../../schema/values.ts'
import { carryCodec, id, withoutKeys } from '../codec.ts'
import { isWrapped, readCarry, unknownPartOf, wrapUnknownPart } from '../v0.3/parts.ts'
import { metadata, nonEmptyStrings } from '../v0.3/schemas.ts'

// What the house has beyond 0.3: parts for tool calls and their results, and a message member for input requests. In the
// model, both are the client tools extension: data parts and metadata. `translate.ts` describes the stages of translation.

/** What the house keeps in the model, besides what 0.3 keeps there. */
const houseCarry = carryCodec('v0.3-house')

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

/** An input request, as it is in the metadata of a model message. */
const InputRequestFields = object({
  requestId: id,
  prompt: optional(string()),
  sensitive: optional(boolean()),
  tool: optional(string()),
  schema: optional(struct()),
})

export const InputRequest = taggedAs('kind', 'input-request', InputRequestFields)

/** An artifact chunk with an index instead of an id, as house events have it. */
export const Chunk = object({
  index: defaultsTo(int32({ min: 0 }), 0),
  part: struct(),
})

const sharedFields = { metadata, extensions: optional(nonEmptyStrings) }

/** The members of a house message that differ from the model, on the wire. */
const HouseWireMembers = object({ inputRequest: optional(InputRequest), ...sharedFields })

/**
 * The same members without `kind`. In a message between the house and the model, its metadata holds these members, so
 * that the metadata and the input request of a house message stay apart.
 */
const HouseMembers = object({ inputRequest: optional(InputRequestFields), ...sharedFields })

type HouseMembers = Infer<typeof HouseMembers>

interface ToolKind {
  readonly kind: string
  readonly mediaType: string
  readonly schema: Schema<JsonObject & { readonly metadata?: JsonObject }>
}

const toolKinds: readonly ToolKind[] = [
  { kind: 'tool-use', mediaType: toolUse, schema: ToolUse },
  { kind: 'tool-result', mediaType: toolResult, schema: ToolResult },
]

/** Marks a request whose task was named only among the references of its message. */
export function carryingReference(carry: Carry | undefined): Carry {
  return { ...carry, ...houseCarry.toCarry({ byReference: true }).carry }
}

/** Whether the task was named only among the references of the message. */
export function isByReference({ carry }: SendRequest): boolean {
  return houseCarry.readCarry(carry).byReference === true
}

/** Whether the request came in this dialect or in 0.3, and is forwarded. */
export function isAsSent({ carry }: SendRequest): boolean {
  return readCarry(carry).asSent === true
}

export function isToolResult(part: Part): boolean {
  return 'data' in part && part.mediaType === toolResult
}

/** Wraps a tool part as a part of unknown kind, which 0.3 preserves. */
export function partToStandardWire(part: unknown): unknown {
  if (!isObject(part)) return part
  const tool = toolKinds.find(({ kind }) => kind === part.kind)
  return tool ? wrapUnknownPart({ kind: tool.kind, ...tool.schema.read(part) }) : part
}

export function partFromStandard(part: Part): Part {
  if (!('data' in part) || !isObject(part.data)) return part
  const { kind, metadata, ...data } = part.data
  const tool = isWrapped(part) ? toolKinds.find((toolKind) => toolKind.kind === kind) : undefined
  if (tool) return defined({ data, mediaType: tool.mediaType, metadata: isObject(metadata) ? metadata : undefined })
  // The sender wrote the tool part as data: it must be written as data again.
  return asToolPart(part) ? { ...part, ...houseCarry.toCarry({ literal: true }) } : part
}

export function partToStandard(part: Part): Part {
  if (houseCarry.readCarry(part.carry).literal === true) return part
  const toolPart = asToolPart(part)
  return toolPart ? unknownPartOf(toolPart) : part
}

export function messageToStandardWire(message: unknown): unknown {
  if (!isObject(message)) return message
  const { inputRequest, ...wire } = message
  const hasMembers = inputRequest !== undefined || wire.metadata !== undefined
  return hasMembers ? { ...wire, metadata: HouseWireMembers.read(message) } : wire
}

export function messageFromStandard(message: Message): Message {
  const { metadata: houseMetadata, ...rest } = message
  if (houseMetadata === undefined) return message
  const members = HouseMembers.read(houseMetadata)
  const decoded = { ...rest, ...toModelMembers(members) }
  if (isSame(toHouseMembers(decoded), members)) return decoded
  // The members cannot be derived from the model message, so they are kept.
  return { ...decoded, ...houseCarry.toCarry({ words: members as JsonObject }) }
}

export function messageToStandard(message: Message): Message {
  const { metadata, extensions: uris, carry, ...rest } = message
  const kept = tryRead(HouseMembers, houseCarry.readCarry(carry).words)
  const isUnchanged = kept && isSame(toModelMembers(kept), defined({ metadata, extensions: uris }))
  const { extensions, ...houseMetadata } = isUnchanged ? kept : toHouseMembers(message)
  return {
    ...rest,
    ...defined({
      extensions,
      metadata: Object.keys(houseMetadata).length > 0 ? (houseMetadata as JsonObject) : undefined,
    }),
  }
}

export function messageToHouseWire(message: unknown): unknown {
  if (!isObject(message) || !isObject(message.metadata)) return message
  const { metadata: houseMetadata, ...wire } = message
  const { inputRequest, metadata } = HouseMembers.read(houseMetadata)
  return {
    ...wire,
    ...defined({
      inputRequest: inputRequest === undefined ? undefined : { kind: 'input-request', ...inputRequest },
      metadata,
    }),
  }
}

/** The data part as a tool part of the house, if it can be written as one. */
function asToolPart(part: Part): JsonObject | undefined {
  const tool = toolKinds.find(({ mediaType }) => mediaType === part.mediaType)
  if (!tool || !('data' in part) || !isObject(part.data) || part.filename !== undefined) return undefined
  const { metadata } = part
  const members = tryRead(tool.schema, metadata === undefined ? part.data : { ...part.data, metadata })
  return members && { kind: tool.kind, ...members }
}

type ModelMembers = Pick<Message, 'metadata' | 'extensions'>

function toModelMembers({ inputRequest, metadata, extensions }: HouseMembers): ModelMembers {
  if (inputRequest === undefined) return defined({ metadata, extensions })
  return {
    metadata: { ...metadata, [clientTools]: inputRequest },
    extensions: [...new Set([...(extensions ?? []), clientTools])],
  }
}

function toHouseMembers({ metadata, extensions }: ModelMembers): HouseMembers {
  const request = metadata?.[clientTools]
  const inputRequest = request === undefined ? undefined : tryRead(InputRequestFields, request)
  if (inputRequest === undefined) return defined({ metadata, extensions })
  const others = extensions?.filter((uri) => uri !== clientTools)
  return defined({
    inputRequest,
    metadata: withoutKeys(metadata, { [clientTools]: request }),
    extensions: others?.length ? others : undefined,
  })
}

function isSame(one: object, other: object): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
