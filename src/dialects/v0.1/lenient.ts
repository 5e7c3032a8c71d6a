import type { Json, JsonObject } from '../../protocol/model.ts'
import { isObject } from '../is-object.ts'
import type { Clean } from '../leniently.ts'

/** What callers of A2A 0.1 send although the schema does not allow it, put right where we can. */

/** Whoever calls speaks as the user, also if it is an agent. */
export const cleanSendParams: Clean = (params) => {
  if (!isObject(params) || !isObject(params.message)) return params
  const { role, parts, ...message } = params.message
  const clean: Record<string, Json> = { ...message, role: role === 'agent' ? 'user' : (role ?? null) }
  if (parts !== undefined) clean.parts = Array.isArray(parts) ? parts.map(cleanPart) : parts
  return { ...params, message: clean }
}

/** Later versions call the id of a task so, nearly everywhere. */
export const cleanTaskParams: Clean = (params) =>
  isObject(params) && params.id === undefined && params.taskId !== undefined ? { ...params, id: params.taskId } : params

/** Later versions tell by `kind` what a part is, or by the one member that it has. */
function cleanPart(part: Json): Json {
  if (!isObject(part) || part.type !== undefined) return part
  const type = part.kind ?? types.find((name) => part[name] !== undefined)
  return type === undefined ? part : { ...part, type }
}

const types: readonly (keyof JsonObject)[] = ['text', 'file', 'data']
