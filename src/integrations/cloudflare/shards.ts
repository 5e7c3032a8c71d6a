import { isObject, type JsonObject } from '../../core/base/json.ts'
import { isId } from '../../core/protocol/ids.ts'

/** The header by which the Worker tells an object its shard. Callers cannot set it. */
export const shardHeader = 'x-parley-shard'

/**
 * The shard of a request without credentials: two hexadecimal digits. It follows from the id of its task, else of its context, else
 * of its message, so that a task is with everything that must be stored in one transaction with it. Undefined if it has no id.
 */
export function shardOfRequest(url: URL, body: unknown): string | undefined {
  const id = taskInPath(url.pathname) ?? (isObject(body) ? idIn(body) : undefined) ?? contextInQuery(url.searchParams)
  return id === undefined ? undefined : shardOf(id)
}

/** The ids that a shard makes end at its digits. Ids of callers are distributed by a hash (FNV-1a). */
export function shardOf(id: string): string {
  if (isId(id)) return id.slice(-2)
  let hash = 0x811c9dc5
  for (let at = 0; at < id.length; at++) hash = Math.imul(hash ^ id.charCodeAt(at), 0x01000193)
  return ((hash ^ (hash >>> 16)) & 0xff).toString(16).padStart(2, '0')
}

function taskInPath(path: string): string | undefined {
  const [, encoded] = /\/tasks\/([^/:]+)/.exec(path) ?? []
  try {
    return encoded && decodeURIComponent(encoded)
  } catch {
    return undefined
  }
}

function contextInQuery(query: URLSearchParams): string | undefined {
  return query.get('contextId') ?? query.get('context_id') ?? undefined
}

/** Reads the ids of all versions: their members have no other meaning in any of them, so that it needs no dialect. */
function idIn(body: JsonObject): string | undefined {
  const params = isObject(body.params) ? body.params : body
  const messages = [params.message, params.request].filter(isObject)
  const find = (objects: readonly JsonObject[], ...names: readonly string[]) =>
    objects.flatMap((object) => names.map((name) => object[name])).find((id) => typeof id === 'string' && id !== '')
  const [, inName] = /^tasks\/([^/]+)/.exec(`${find([params], 'name', 'parent')}`) ?? []
  const task = find([...messages, params], 'taskId', 'task_id') ?? inName ?? find(params === body ? [] : [params], 'id')
  const context = find([...messages, params], 'contextId', 'context_id', 'sessionId')
  return (task ?? context ?? find(messages, 'messageId', 'message_id')) as string | undefined
}
