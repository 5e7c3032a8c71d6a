import type { LanguageModelV4ToolResultOutput } from '@ai-sdk/provider'
import type { JsonObject } from '../../base/json.ts'
import { toJson } from '../../base/json.ts'
import type { Part } from '../../protocol/model.ts'
import { asText, toModelContent } from '../prompt.ts'

const marked = Symbol('the parts of a tool result')

/** What a tool has returned, as it can be stored. */
export function pack(value: unknown): JsonObject {
  if (isToolResult(value))
    return { parts: toJson(value[marked], 'What the tool returns') ?? [], isError: value.isError }
  return { value: toJson(value, 'What the tool returns') ?? null }
}

/** The same as it was returned, or nearly: JSON is all that is left of other values. */
export function unpack(packed: JsonObject): unknown {
  const { parts, isError } = packed
  return parts === undefined
    ? packed.value
    : partsResult(parts as unknown as readonly Part[], { isError: isError === true })
}

/** What a tool has returned, for the model. */
export function toOutput(value: unknown): Output {
  if (typeof value === 'string') return { type: 'text', value }
  if (isToolResult(value)) return outputOfParts(value)
  // What is JSON for us is so for the provider, whose lists may be written to: it is a copy.
  return { type: 'json', value: (toJson(value, 'What the tool returns') ?? null) as never }
}

/** What a tool gives that is more than text and JSON, such as images; or what it has to say of its failure. */
export interface ToolResult {
  readonly [marked]: readonly Part[]
  readonly isError: boolean
}

/** To be returned by a tool: the model is shown the parts as they are, as far as its provider can. */
export function partsResult(parts: readonly Part[], { isError = false } = {}): ToolResult {
  return { [marked]: parts, isError }
}

function isToolResult(value: unknown): value is ToolResult {
  return typeof value === 'object' && value !== null && marked in value
}

type Output = LanguageModelV4ToolResultOutput

/** Most providers know text alone; the form for more is used only where there is more. */
function outputOfParts({ [marked]: parts, isError }: ToolResult): Output {
  const hasFiles = parts.some((part) => 'raw' in part || 'url' in part)
  if (hasFiles && !isError) return { type: 'content', value: parts.map(toModelContent) }
  const value = parts.map(asText).join('\n')
  return isError ? { type: 'error-text', value: value || 'The tool failed without a word.' } : { type: 'text', value }
}
