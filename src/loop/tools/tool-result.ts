import type { LanguageModelV4ToolResultOutput, LanguageModelV4ToolResultPart } from '@ai-sdk/provider'
import { defined, type Json, type JsonObject, toJson } from '../../core/base/json.ts'
import { checkOptions, flag } from '../../core/base/options.ts'
import { toolResult } from '../../core/protocol/extensions/client-tools.ts'
import type { Part } from '../../core/protocol/model.ts'
import { asText, toModelContent } from '../prompt.ts'

const resultParts = Symbol('the parts of a tool result')

/** A tool result other than text and JSON: parts such as images, or an error with content. */
export interface ToolResult {
  readonly [resultParts]: readonly Part[]
  readonly isError: boolean
}

/** Creates a tool result from parts. The model receives them unchanged as far as its provider supports them. */
export function partsResult(parts: readonly Part[], options: { readonly isError?: boolean } = {}): ToolResult {
  checkOptions('partsResult', options, { isError: flag })
  const { isError = false } = options
  return { [resultParts]: parts, isError }
}

export function partsOf(result: ToolResult): readonly Part[] {
  return result[resultParts]
}

/** Encodes the value that a tool has returned for the journal. */
export function encodeResult(value: unknown): JsonObject {
  if (isToolResult(value))
    return { parts: toJson(value[resultParts], 'What the tool returns') ?? [], isError: value.isError }
  return { value: toJson(value, 'What the tool returns') ?? null }
}

/** The reverse. Values other than `ToolResult` come back as JSON. */
export function decodeResult(stored: JsonObject): unknown {
  const { parts, isError } = stored
  return parts === undefined
    ? stored.value
    : partsResult(parts as unknown as readonly Part[], { isError: isError === true })
}

/** Converts the value that a tool has returned for the model. */
export function toOutput(value: unknown): Output {
  if (typeof value === 'string') return { type: 'text', value }
  if (isToolResult(value)) return outputOfParts(value)
  // The provider's JSON type has mutable arrays; toJson returns a copy, so the cast is safe.
  return { type: 'json', value: (toJson(value, 'What the tool returns') ?? null) as never }
}

/** The result of a tool as a part of a message. Files are described, not included. */
export function toolResultPart({ toolCallId: toolUseId, output }: LanguageModelV4ToolResultPart): Part {
  const isError = ['error-text', 'error-json', 'execution-denied'].includes(output.type)
  const data = defined({ toolUseId, result: resultOf(output), isError: isError || undefined })
  return { data, mediaType: toolResult }
}

function resultOf(output: Output): Json {
  if (output.type === 'execution-denied') return output.reason ?? 'The call was refused.'
  if (output.type !== 'content') return toJson(output.value, 'What the tool returns') ?? null
  return output.value.map((item): JsonObject => {
    if (item.type === 'text') return { type: item.type, text: item.text }
    return defined({ type: item.type, mediaType: 'mediaType' in item ? item.mediaType : undefined })
  })
}

/** Cuts a result that is too long for the model, and adds a note that says so. */
export function limitOutput(output: Output, limit: number): Output {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return output.value.length <= limit ? output : { ...output, value: cut(output.value, limit) }
    case 'json':
    case 'error-json': {
      const text = JSON.stringify(output.value)
      if (text.length <= limit) return output
      return { type: output.type === 'json' ? 'text' : 'error-text', value: cut(text, limit) }
    }
    case 'content':
      return limitContent(output, limit)
    case 'execution-denied':
      return output
  }
}

/** Characters of base64 that a file in a result may have. Files are not text, and the limit of texts would end most images. */
const maxFileLength = 8 * 2 ** 20

/** All texts together count. */
function limitContent(output: Extract<Output, { type: 'content' }>, limit: number): Output {
  let left = limit
  const value = output.value.map((item) => {
    if (item.type === 'text') {
      const text = item.text.length <= left ? item.text : cut(item.text, left)
      left = Math.max(0, left - item.text.length)
      return { ...item, text }
    }
    const { length } = JSON.stringify(item)
    return length <= maxFileLength
      ? item
      : { type: 'text' as const, text: `[A file of ${length} characters is left out.]` }
  })
  return { ...output, value }
}

function cut(text: string, limit: number): string {
  const kept = text.slice(0, limit).toWellFormed()
  return `${kept}\n[Cut: ${text.length - limit} of ${text.length} characters are left out. Request a smaller part.]`
}

export function isToolResult(value: unknown): value is ToolResult {
  return typeof value === 'object' && value !== null && resultParts in value
}

type Output = LanguageModelV4ToolResultOutput

/** Most providers support only text, so the form with parts is used only for files. */
function outputOfParts({ [resultParts]: parts, isError }: ToolResult): Output {
  const hasFiles = parts.some((part) => 'raw' in part || 'url' in part)
  if (hasFiles && !isError) return { type: 'content', value: parts.map(toModelContent) }
  const value = parts.map(asText).join('\n')
  return isError
    ? { type: 'error-text', value: value || 'The tool failed without a message.' }
    : { type: 'text', value }
}
