import { toolResult, toolUse } from '../../protocol/client-tools.ts'
import type { JsonObject, Part } from '../../protocol/model.ts'
import { fitting } from '../fitting.ts'
import { isObject } from '../is-object.ts'
import type { Shape } from '../shape.ts'
import { isWrapped, unknownPartOf, wrapUnknownPart } from '../v0.3/parts.ts'
import { asLiteral, isLiteral } from './carry.ts'
import { ToolResult, ToolUse } from './schemas.ts'

/** The house has parts of their own for calls of tools and their results. Elsewhere they are data. */

interface ToolKind {
  readonly kind: string
  readonly mediaType: string
  readonly shape: Shape<JsonObject & { readonly metadata?: JsonObject }>
}

const tools: readonly ToolKind[] = [
  { kind: 'tool-use', mediaType: toolUse, shape: ToolUse },
  { kind: 'tool-result', mediaType: toolResult, shape: ToolResult },
]

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

function asTool(part: Part): JsonObject | undefined {
  const tool = tools.find(({ mediaType }) => mediaType === part.mediaType)
  if (!tool || !('data' in part) || !isObject(part.data) || part.filename !== undefined) return undefined
  const { metadata } = part
  const read = fitting(tool.shape, metadata === undefined ? part.data : { ...part.data, metadata })
  return read && { kind: tool.kind, ...read }
}

export function isToolResult(part: Part): boolean {
  return 'data' in part && part.mediaType === toolResult
}
