import type {
  LanguageModelV3Prompt,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4FileData,
} from '@ai-sdk/provider'
import { toBase64 } from '../core/base/base64.ts'
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

/** The same prompt for models of specification v3, which have other forms for files. */
export function toV3Prompt(prompt: LanguageModelV4Prompt): LanguageModelV3Prompt {
  const messages = prompt.map((message) => {
    if (message.role === 'system') return message
    return { ...message, content: message.content.map(toV3Part) }
  })
  return messages as LanguageModelV3Prompt
}

function toV3Part(part: Exclude<LanguageModelV4Message, { role: 'system' }>['content'][number]): object {
  if (part.type === 'file') return { ...part, data: bytesOrUrl(part.data) }
  if (part.type !== 'tool-result' || part.output.type !== 'content') return part
  const value = part.output.value.map((item): object => {
    if (item.type !== 'file') return item
    const { mediaType, filename } = item
    const data = bytesOrUrl(item.data)
    if (data instanceof URL) return { type: 'file-url', url: data.href }
    return defined({ type: 'file-data', data: typeof data === 'string' ? data : toBase64(data), mediaType, filename })
  })
  return { ...part, output: { ...part.output, value } }
}

function bytesOrUrl(data: SharedV4FileData): string | Uint8Array | URL {
  if (data.type === 'url') return data.url
  if (data.type === 'data') return data.data
  // The loop makes no other forms.
  throw new TypeError(`A file of the form ${data.type} cannot be given to a model of specification v3.`)
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
