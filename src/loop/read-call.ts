import type { LanguageModelV4ToolCallPart } from '@ai-sdk/provider'
import type { JsonObject } from '../protocol/model.ts'
import { redactionMark } from '../protocol/redacted.ts'
import type { ToolCall } from './model-step.ts'

/** A call with what the model gave as arguments, as far as they are any. */
export type ReadCall = WithArguments | { readonly call: ToolCall; readonly problem: string }

export interface WithArguments {
  readonly call: ToolCall
  readonly given: JsonObject
  /** They held a secret, and were given to a process that is gone. */
  readonly isGone: boolean
}

export function readCall(call: ToolCall, isRecalled: boolean): ReadCall {
  const { toolName, input } = call
  let given: unknown
  try {
    given = JSON.parse(input === '' ? '{}' : input)
  } catch {
    return { call, problem: `The arguments of "${toolName}" are no JSON: call it again with a JSON object.` }
  }
  if (!isObject(given)) return { call, problem: `The arguments of "${toolName}" must be a JSON object.` }
  return { call, given, isGone: isRecalled && input.includes(redactionMark) }
}

/** The call as the model is reminded of it. Providers want an object, also of a call that was none. */
export function reminderOf(read: ReadCall): LanguageModelV4ToolCallPart {
  const { toolCallId, toolName, providerMetadata } = read.call
  const reminder = { type: 'tool-call' as const, toolCallId, toolName, input: 'given' in read ? read.given : {} }
  return providerMetadata ? { ...reminder, providerOptions: providerMetadata } : reminder
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
