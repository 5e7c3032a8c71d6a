import type { CallToolResult } from '@modelcontextprotocol/server'
import { outputOf } from '../client/call-skill.ts'
import { type Reply, toReply } from '../client/reply.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Part } from '../protocol/model.ts'
import type { Outcome } from '../protocol/service.ts'

type Block = CallToolResult['content'][number]

/** What an agent has answered, or the artifacts and the last word of a task that is completed. */
export async function toResult(outcome: Outcome, skill: string | undefined, isTyped: boolean): Promise<CallToolResult> {
  const reply = await toReply(outcome)
  const content = partsOf(reply).map(({ part, place }) => toBlock(part, place))
  const { taskId, contextId } = placeOf(reply)
  const about = { content, _meta: { ...(taskId && { taskId }), ...(contextId && { contextId }) } }
  if (!isTyped) return about
  return { ...about, structuredContent: outputOf(reply, skill ?? '') }
}

/** Errors are results: the model can put them right, or tell the user. */
export function failed(text: string): CallToolResult {
  return { content: [{ type: 'text', text }], isError: true }
}

/** Only what was written for callers is told. */
export function failureOf(error: unknown): CallToolResult {
  if (!(error instanceof A2AError)) return failed('The agent could not be asked.')
  return failed([error.message, error.hint].filter(Boolean).join('\n'))
}

function partsOf(reply: Reply): readonly { readonly part: Part; readonly place: string }[] {
  if (reply.type === 'message') return reply.message.parts.map((part, at) => ({ part, place: `message/${at}` }))
  const { id, artifacts, status } = reply.task
  const written = artifacts.flatMap(({ artifactId, parts }) =>
    joined(parts).map((part, at) => ({ part, place: `${id}/${artifactId}/${at}` })),
  )
  const said = (status.message?.parts ?? []).map((part, at) => ({ part, place: `${id}/status/${at}` }))
  return [...written, ...said]
}

/** Chunks of one text as one. */
function joined(parts: readonly Part[]): readonly Part[] {
  const whole: Part[] = []
  for (const part of parts) {
    const last = whole.at(-1)
    if ('text' in part && last && 'text' in last) whole[whole.length - 1] = { ...last, text: last.text + part.text }
    else whole.push(part)
  }
  return whole
}

function toBlock(part: Part, place: string): Block {
  const { mediaType, filename } = part
  if ('text' in part) return { type: 'text', text: part.text }
  if ('data' in part) return { type: 'text', text: JSON.stringify(part.data) }
  const mime = mediaType === undefined ? {} : { mimeType: mediaType }
  if ('url' in part) return { type: 'resource_link', uri: part.url, name: filename ?? part.url, ...mime }
  if (mediaType?.startsWith('image/')) return { type: 'image', data: part.raw, mimeType: mediaType }
  if (mediaType?.startsWith('audio/')) return { type: 'audio', data: part.raw, mimeType: mediaType }
  const uri = `a2a:${place}${filename ? `/${encodeURIComponent(filename)}` : ''}`
  return { type: 'resource', resource: { uri, blob: part.raw, ...mime } }
}

function placeOf(reply: Reply) {
  return { taskId: reply.task?.id, contextId: reply.contextId }
}
