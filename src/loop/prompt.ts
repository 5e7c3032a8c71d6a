import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import { defined } from '../core/base/json.ts'
import { isProgress } from '../core/protocol/extensions/progress.ts'
import type { Message, Part } from '../core/protocol/model.ts'

export interface PromptOptions {
  readonly instructions: string | undefined
  readonly history: readonly Message[]
  readonly parts: readonly Part[]
  /** Estimated number of tokens that the history may have. */
  readonly historyTokens: number
}

/** The instructions, as much of the history as its budget allows, and the new message. */
export function createPrompt({ instructions, history, parts, historyTokens }: PromptOptions): LanguageModelV4Prompt {
  return [
    ...(instructions ? [{ role: 'system' as const, content: instructions }] : []),
    ...newestWithin(history.filter(isContent).map(toModelMessage), historyTokens),
    userMessage(parts),
  ]
}

/** Converts a part for the model: files stay files, everything else becomes text. */
export function toModelContent(part: Part) {
  const { mediaType = 'application/octet-stream', filename } = part
  const file = defined({ type: 'file' as const, mediaType, filename })
  if ('raw' in part) return { ...file, data: { type: 'data' as const, data: part.raw } }
  if ('url' in part && /^https?:/i.test(part.url) && URL.canParse(part.url)) {
    return { ...file, data: { type: 'url' as const, url: new URL(part.url) } }
  }
  return { type: 'text' as const, text: asText(part) }
}

export function asText(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return JSON.stringify(part.data)
  return 'url' in part ? part.url : `[${part.filename ?? 'a file'}]`
}

/** Drops the oldest messages first. */
function newestWithin(messages: readonly LanguageModelV4Message[], tokens: number): readonly LanguageModelV4Message[] {
  let tokensLeft = tokens
  let first = messages.length
  while (first > 0) {
    // Estimates four characters per token: only the provider can count exactly.
    tokensLeft -= Math.ceil(JSON.stringify(messages[first - 1]).length / 4)
    if (tokensLeft < 0) break
    first--
  }
  return messages.slice(first)
}

/** Leaves out progress messages, and empty ones, which some providers refuse. */
function isContent(message: Message): boolean {
  return !isProgress(message) && message.parts.some((part) => asText(part) !== '')
}

function toModelMessage({ role, parts }: Message): LanguageModelV4Message {
  if (role === 'user') return userMessage(parts)
  return { role: 'assistant', content: [{ type: 'text', text: parts.map(asText).join('\n') }] }
}

function userMessage(parts: readonly Part[]): LanguageModelV4Message {
  return { role: 'user', content: parts.map(toModelContent) }
}
