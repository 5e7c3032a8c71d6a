import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { Clean } from '../legacy-codec.ts'

// Repairs what 0.1 clients send although the schema does not allow it.

/** A caller has the role of the user, even if it is an agent. */
export const cleanSendParams: Clean = (params) => {
  if (!isObject(params) || !isObject(params.message)) return params
  const { role, parts = partsOfContent(params.message), ...rest } = params.message
  const message: Record<string, Json> = { ...rest, role: role === 'agent' ? 'user' : (role ?? null) }
  if (parts !== undefined) message.parts = Array.isArray(parts) ? parts.map(cleanPart) : parts
  return { ...params, message }
}

/** Later versions call the id of a task `taskId` nearly everywhere. */
export const cleanTaskParams: Clean = (params) =>
  isObject(params) && params.id === undefined && params.taskId !== undefined ? { ...params, id: params.taskId } : params

/** A message of python-a2a has one `content` instead of parts. */
function partsOfContent({ content }: JsonObject): Json | undefined {
  if (!isObject(content)) return undefined
  return [content.type === 'text' ? { type: 'text', text: content.text ?? null } : { type: 'data', data: content }]
}

const partTypes = ['text', 'file', 'data']

/** In later versions, a part has a `kind`, or only the member with its content. */
function cleanPart(part: Json): Json {
  if (!isObject(part) || part.type !== undefined) return part
  const type = part.kind ?? partTypes.find((name) => part[name] !== undefined)
  return type === undefined ? part : { ...part, type }
}
