import { clientTools, inputRequestIn, toolResult, toolUse } from '../../protocol/client-tools.ts'
import type { Json, JsonObject, Message, Part } from '../../protocol/model.ts'

/**
 * A request of another agent has an id that is its own in the task of that agent only. In ours it goes by that task's
 * id, too, so that two agents who ask are never mixed up, and the answer gets its own id back on its way down.
 */
export function withOurIds(question: Message, taskId: string): Message {
  const request = inputRequestIn(question)
  const ours = (id: Json | undefined) => (typeof id === 'string' ? `${taskId}/${id}` : id)
  const parts = question.parts.map((part) => withId(part, toolUse, ours))
  if (typeof request?.requestId !== 'string') return { ...question, parts }
  const asked = { ...request, requestId: `${taskId}/${request.requestId}` }
  return { ...question, parts, metadata: { ...question.metadata, [clientTools]: asked } }
}

export function withTheirIds(parts: readonly Part[], taskId: string): readonly Part[] {
  const prefix = `${taskId}/`
  const theirs = (id: Json | undefined) =>
    typeof id === 'string' && id.startsWith(prefix) ? id.slice(prefix.length) : id
  return parts.map((part) => withId(part, toolResult, theirs))
}

function withId(part: Part, mediaType: string, change: (id: Json | undefined) => Json | undefined): Part {
  if (part.mediaType !== mediaType || !('data' in part) || !isObject(part.data)) return part
  const toolUseId = change(part.data.toolUseId)
  return toolUseId === undefined ? part : { ...part, data: { ...part.data, toolUseId } }
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
