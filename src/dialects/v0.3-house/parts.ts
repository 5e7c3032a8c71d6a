import { toolResult, toolUse } from '../../protocol/client-tools.ts'
import type { JsonObject, Part } from '../../protocol/model.ts'
import { decodeAnnotations, encodeAnnotations } from '../compat-metadata.ts'
import { fitting } from '../fitting.ts'
import { isObject } from '../is-object.ts'
import { ToolResult, ToolUse } from './schemas.ts'

/** The house has parts of their own for calls of tools and their results. Elsewhere they are data. */

export function partToStandard(part: unknown): unknown {
  if (!isObject(part)) return part
  if (part.kind === 'tool-use') return toData(ToolUse.read(part), toolUse)
  if (part.kind === 'tool-result') return toData(ToolResult.read(part), toolResult)
  return part
}

function toData({ metadata, ...data }: JsonObject & { readonly metadata?: JsonObject }, mediaType: string): JsonObject {
  return { kind: 'data', data, metadata: { ...encodeAnnotations({ mediaType, metadata }) } }
}

export function partToHouse(part: unknown): unknown {
  if (!isObject(part) || part.kind !== 'data' || !isObject(part.data) || !isObject(part.metadata)) return part
  const { mediaType, metadata } = decodeAnnotations(part.metadata)
  const told = metadata === undefined ? part.data : { ...part.data, metadata }
  const use = mediaType === toolUse ? fitting(ToolUse, told) : undefined
  if (use !== undefined) return { kind: 'tool-use', ...use }
  const result = mediaType === toolResult ? fitting(ToolResult, told) : undefined
  return result === undefined ? part : { kind: 'tool-result', ...result }
}

export function isToolResult(part: Part): boolean {
  return 'data' in part && part.mediaType === toolResult
}
