import type { LanguageModelV4Message, LanguageModelV4Prompt } from '@ai-sdk/provider'
import type { Message, Part } from '../protocol/model.ts'
import { progressNote } from './output.ts'

export interface PromptOptions {
  readonly instructions: string | undefined
  readonly history: readonly Message[]
  readonly parts: readonly Part[]
  /** Tokens that the history may have, as estimated. */
  readonly historyTokens: number
}

/** What the model is told first: who it is, what was said before, as far as there is room, and what is said now. */
export function createPrompt({ instructions, history, parts, historyTokens }: PromptOptions): LanguageModelV4Prompt {
  return [
    ...(instructions ? [{ role: 'system' as const, content: instructions }] : []),
    ...newestWithin(history.filter(isSaid).map(toModelMessage), historyTokens),
    userMessage(parts),
  ]
}

/** A part as models are shown it: files as files, everything else as text. */
export function toModelContent(part: Part) {
  const { mediaType = 'application/octet-stream', filename } = part
  const about = { type: 'file' as const, mediaType, ...(filename !== undefined && { filename }) }
  if ('raw' in part) return { ...about, data: { type: 'data' as const, data: part.raw } }
  if ('url' in part && /^https?:/i.test(part.url) && URL.canParse(part.url)) {
    return { ...about, data: { type: 'url' as const, url: new URL(part.url) } }
  }
  return { type: 'text' as const, text: asText(part) }
}

export function asText(part: Part): string {
  if ('text' in part) return part.text
  if ('data' in part) return JSON.stringify(part.data)
  return 'url' in part ? part.url : `[${part.filename ?? 'a file'}]`
}

/** The oldest are left out first. */
function newestWithin(messages: readonly LanguageModelV4Message[], tokens: number): readonly LanguageModelV4Message[] {
  let room = tokens
  let first = messages.length
  while (first > 0) {
    // Four characters a token: what providers count differs, and only they can count it.
    room -= Math.ceil(JSON.stringify(messages[first - 1]).length / 4)
    if (room < 0) break
    first--
  }
  return messages.slice(first)
}

/** How far the agent was is no part of what was said; nor is what says nothing, which some providers refuse. */
function isSaid({ metadata, parts }: Message): boolean {
  return metadata?.[progressNote] === undefined && parts.some((part) => asText(part) !== '')
}

function toModelMessage({ role, parts }: Message): LanguageModelV4Message {
  if (role === 'user') return userMessage(parts)
  return { role: 'assistant', content: [{ type: 'text', text: parts.map(asText).join('\n') }] }
}

function userMessage(parts: readonly Part[]): LanguageModelV4Message {
  return { role: 'user', content: parts.map(toModelContent) }
}
