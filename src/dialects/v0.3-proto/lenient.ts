import type { JsonObject } from '../../protocol/model.ts'
import { isObject } from '../is-object.ts'

/** How else callers of A2A 0.3 over REST spell what they send, brought into the one form that the shapes read. */

export function cleanSend(params: unknown): unknown {
  if (!isObject(params)) return params
  const { message, configuration, ...rest } = renamed(params, { request: 'message' })
  return { ...rest, message: cleanSentMessage(message), configuration: cleanConfiguration(configuration) }
}

/** Whoever calls speaks as the user, also if it is an agent. */
function cleanSentMessage(message: unknown): unknown {
  const clean = cleanMessage(message)
  if (!isObject(clean)) return clean
  return clean.role === 'ROLE_AGENT' || clean.role === 2 ? { ...clean, role: 'ROLE_USER' } : clean
}

function cleanConfiguration(configuration: unknown): unknown {
  if (!isObject(configuration)) return configuration
  return renamed(configuration, {
    pushNotificationConfig: 'pushNotification',
    push_notification_config: 'pushNotification',
  })
}

export function cleanListTasks(params: unknown): unknown {
  if (!isObject(params)) return params
  const clean = renamed(params, {
    lastUpdatedAfter: 'statusTimestampAfter',
    last_updated_after: 'statusTimestampAfter',
  })
  return clean.status === 'TASK_STATE_CANCELED' ? { ...clean, status: 'TASK_STATE_CANCELLED' } : clean
}

export function cleanMessage(message: unknown): unknown {
  if (!isObject(message)) return message
  const { content, ...rest } = renamed(message, { parts: 'content' })
  return { ...rest, content: Array.isArray(content) ? content.map(cleanPart) : content }
}

export function cleanPart(part: unknown): unknown {
  if (!isObject(part)) return part
  const { file, data } = part
  if (isObject(file)) return { ...part, file: renamed(file, { bytes: 'fileWithBytes', uri: 'fileWithUri' }) }
  return data === undefined || isDataPart(part) ? part : { ...part, data: { data } }
}

/** Where a part says by `kind` what it is, its data is never wrapped. */
function isDataPart({ kind, data }: JsonObject): boolean {
  return kind === undefined && isObject(data) && isObject(data.data) && Object.keys(data).length === 1
}

/** What is there under its right name already stays. */
export function renamed(object: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  const given = Object.keys(names).filter((name) => object[name] !== undefined)
  if (given.length === 0) return object
  const entries = given.map((name) => [names[name], object[name]])
  return { ...Object.fromEntries(entries), ...object }
}
