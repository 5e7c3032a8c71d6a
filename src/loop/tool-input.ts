import type { LanguageModelV4ToolCallPart } from '@ai-sdk/provider'
import type { JsonObject } from '../protocol/model.ts'
import type { ToolCall } from './model-step.ts'

/** What a model gave as arguments, as far as they are any. */
export type ToolInput = { readonly given: JsonObject } | { readonly problem: string }

export function readInput({ toolName, input }: ToolCall): ToolInput {
  let given: unknown
  try {
    given = JSON.parse(input === '' ? '{}' : input)
  } catch {
    return { problem: `The arguments of "${toolName}" are no JSON: call it again with a JSON object.` }
  }
  return isObject(given) ? { given } : { problem: `The arguments of "${toolName}" must be a JSON object.` }
}

/** The call as the model is reminded of it. Providers want an object, also of a call that was none. */
export function reminderOf(
  { toolCallId, toolName, providerMetadata }: ToolCall,
  input: ToolInput,
): LanguageModelV4ToolCallPart {
  const call = { type: 'tool-call' as const, toolCallId, toolName, input: 'given' in input ? input.given : {} }
  return providerMetadata ? { ...call, providerOptions: providerMetadata } : call
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
