import { isObject, type JsonObject } from '../../base/json.ts'
import type { Clean } from '../legacy-codec.ts'
import { configName } from './resource-names.ts'

// Rewrites what 0.3 clients and agents send over REST into the one form that the schemas read. Some use the names of 0.2,
// or the JSON-RPC objects, which have a `kind` instead of a wrapper.

export function cleanSendParams(params: unknown): unknown {
  if (!isObject(params)) return params
  const { message, configuration, ...rest } = renameMembers(params, { request: 'message' })
  return { ...rest, message: cleanSentMessage(message), configuration: cleanConfiguration(configuration) }
}

export function cleanListTasksParams(params: unknown): unknown {
  if (!isObject(params)) return params
  const cleaned = renameMembers(params, {
    lastUpdatedAfter: 'statusTimestampAfter',
    last_updated_after: 'statusTimestampAfter',
  })
  return cleaned.status === 'TASK_STATE_CANCELED' ? { ...cleaned, status: 'TASK_STATE_CANCELLED' } : cleaned
}

/** Over gRPC, the filter by time has the name that it has in a2a-go. */
export function withStatusTime(params: unknown): unknown {
  return isObject(params) ? renameMembers(params, { lastUpdatedTime: 'statusTimestampAfter' }) : params
}

/** Cleans a stream event, or the result of a send, which is one of them. */
export function cleanEvent(event: unknown): unknown {
  if (!isObject(event)) return event
  const wrapper = wrapperOfKind.get(event.kind)
  const wrapped = wrapper === undefined ? renameMembers(event, { msg: 'message' }) : { [wrapper]: event }
  return changeMembers(wrapped, {
    task: cleanTask,
    message: cleanAgentMessage,
    statusUpdate: cleanUpdate,
    status_update: cleanUpdate,
    artifactUpdate: cleanUpdate,
    artifact_update: cleanUpdate,
  })
}

export function cleanTask(task: unknown): unknown {
  return changeMembers(task, {
    status: cleanStatus,
    artifacts: items(cleanArtifact),
    history: items(cleanAgentMessage),
  })
}

/** In the text of 0.3, the result is a bare list. */
export function cleanTaskPage(page: unknown): unknown {
  const wrapped = Array.isArray(page) ? { tasks: page, pageSize: page.length, totalSize: page.length } : page
  return changeMembers(wrapped, { tasks: items(cleanTask) })
}

/** Adds the resource name to a config with a `taskId`, as in the JSON-RPC objects. */
export function cleanConfig(config: unknown): unknown {
  if (!isObject(config) || typeof config.taskId !== 'string') return config
  const { taskId, pushNotificationConfig } = config
  const id = isObject(pushNotificationConfig) ? pushNotificationConfig.id : undefined
  return { name: configName({ taskId, id: typeof id === 'string' ? id : taskId }), ...config }
}

export function cleanConfigPage(page: unknown): unknown {
  return changeMembers(Array.isArray(page) ? { configs: page } : page, { configs: items(cleanConfig) })
}

/** Returns a copy in which the members that exist are changed. Non-objects pass through; the schema rejects them. */
function changeMembers(value: unknown, changes: Readonly<Record<string, Clean>>): unknown {
  if (!isObject(value)) return value
  const entries = Object.entries(changes).filter(([member]) => value[member] !== undefined)
  return { ...value, ...Object.fromEntries(entries.map(([member, change]) => [member, change(value[member])])) }
}

/** Applies a change to all items of a list. */
function items(change: Clean): Clean {
  return (list) => (Array.isArray(list) ? list.map(change) : list)
}

/** A member that already exists under its right name is kept. */
function renameMembers(object: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  const present = Object.keys(names).filter((name) => object[name] !== undefined)
  if (present.length === 0) return object
  const entries = present.map((name) => [names[name], object[name]])
  return { ...Object.fromEntries(entries), ...object }
}

/** A caller has the role of the user, even if it is an agent. */
function cleanSentMessage(message: unknown): unknown {
  const cleaned = cleanMessage(message, cleanSentPart)
  if (!isObject(cleaned)) return cleaned
  return cleaned.role === 'ROLE_AGENT' || cleaned.role === 2 ? { ...cleaned, role: 'ROLE_USER' } : cleaned
}

function cleanMessage(message: unknown, clean: Clean = cleanPart): unknown {
  if (!isObject(message)) return message
  const { content, ...rest } = renameMembers(message, { parts: 'content' })
  return { ...rest, content: Array.isArray(content) ? content.map(clean) : content }
}

/** Data in its wrapper must be an object. In parts of agents, other data is the member of an object without a wrapper. */
function cleanSentPart(part: unknown): unknown {
  return isObject(part) && part.kind === undefined && isOnlyData(part.data) ? part : cleanPart(part)
}

function cleanPart(part: unknown): unknown {
  if (!isObject(part)) return part
  const { file, data } = part
  if (isObject(file)) return { ...part, file: renameMembers(file, { bytes: 'fileWithBytes', uri: 'fileWithUri' }) }
  return data === undefined || hasWrappedData(part) ? part : { ...part, data: { data } }
}

/** In a part with a `kind`, data is never wrapped. */
function hasWrappedData({ kind, data }: JsonObject): boolean {
  return kind === undefined && isOnlyData(data) && isObject(data.data)
}

function isOnlyData(data: unknown): data is { readonly data: unknown } {
  return isObject(data) && data.data !== undefined && Object.keys(data).length === 1
}

function cleanConfiguration(configuration: unknown): unknown {
  if (!isObject(configuration)) return configuration
  return renameMembers(configuration, {
    pushNotificationConfig: 'pushNotification',
    push_notification_config: 'pushNotification',
  })
}

const wrapperOfKind: ReadonlyMap<unknown, string> = new Map([
  ['task', 'task'],
  ['message', 'message'],
  ['status-update', 'statusUpdate'],
  ['artifact-update', 'artifactUpdate'],
])

function cleanAgentMessage(message: unknown): unknown {
  const cleaned = cleanMessage(message)
  return isObject(cleaned) ? changeMembers({ role: 'ROLE_AGENT', ...cleaned }, { role: cleanRole }) : cleaned
}

function cleanRole(role: unknown): unknown {
  return role === 'user' || role === 'agent' ? `ROLE_${role.toUpperCase()}` : role
}

function cleanUpdate(update: unknown): unknown {
  return changeMembers(update, { status: cleanStatus, artifact: cleanArtifact })
}

function cleanStatus(status: unknown): unknown {
  if (!isObject(status)) return status
  return changeMembers(renameMembers(status, { update: 'message' }), { state: cleanState, message: cleanAgentMessage })
}

function cleanState(state: unknown): unknown {
  if (typeof state !== 'string') return state
  const name = state
    .toUpperCase()
    .replaceAll('-', '_')
    .replace(/^TASK_STATE_/, '')
  return `TASK_STATE_${stateSynonyms.get(name) ?? name}`
}

const stateSynonyms: ReadonlyMap<string, string> = new Map([
  ['CANCELED', 'CANCELLED'],
  ['PENDING', 'SUBMITTED'],
  ['RUNNING', 'WORKING'],
  ['UNKNOWN', 'UNSPECIFIED'],
])

function cleanArtifact(artifact: unknown): unknown {
  return changeMembers(artifact, { parts: items(cleanPart) })
}
