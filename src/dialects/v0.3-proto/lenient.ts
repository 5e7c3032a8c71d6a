import type { JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'

/** How else callers of A2A 0.3 over REST spell what they send, brought into the one form that the shapes read. */

export function cleanSend(params: unknown): unknown {
  if (!isObject(params)) return params
  const { message, configuration, ...rest } = renamed(params, { request: 'message' })
  return { ...rest, message: cleanSentMessage(message), configuration: cleanConfiguration(configuration) }
}

export function cleanListTasks(params: unknown): unknown {
  if (!isObject(params)) return params
  const clean = renamed(params, {
    lastUpdatedAfter: 'statusTimestampAfter',
    last_updated_after: 'statusTimestampAfter',
  })
  return clean.status === 'TASK_STATE_CANCELED' ? { ...clean, status: 'TASK_STATE_CANCELLED' } : clean
}

/**
 * How else agents of A2A 0.3 answer over REST: with the names of 0.2, or in the objects of JSON-RPC, which say by
 * `kind` what they are and have no wrapper. Brought into the one form that the shapes read.
 */

/** What a send answers is one of the events of a stream. */
export function cleanEvent(event: unknown): unknown {
  if (!isObject(event)) return event
  const wrapper = wrapperOfKind.get(event.kind)
  const wrapped = wrapper === undefined ? renamed(event, { msg: 'message' }) : { [wrapper]: event }
  return changed(wrapped, {
    task: cleanTask,
    message: cleanAnswer,
    statusUpdate: cleanUpdate,
    status_update: cleanUpdate,
    artifactUpdate: cleanUpdate,
    artifact_update: cleanUpdate,
  })
}

export type Change = (value: unknown) => unknown

/** A copy in which the members that are there have been changed. */
export function changed(value: unknown, changes: Readonly<Record<string, Change>>): unknown {
  if (!isObject(value)) return value
  const entries = Object.entries(changes).filter(([member]) => value[member] !== undefined)
  return { ...value, ...Object.fromEntries(entries.map(([member, change]) => [member, change(value[member])])) }
}

export function cleanTask(task: unknown): unknown {
  return changed(task, { status: cleanStatus, artifacts: each(cleanArtifact), history: each(cleanAnswer) })
}

export function each(change: Change): Change {
  return (list) => (Array.isArray(list) ? list.map(change) : list)
}

/** What is there under its right name already stays. */
function renamed(object: JsonObject, names: Readonly<Record<string, string>>): JsonObject {
  const given = Object.keys(names).filter((name) => object[name] !== undefined)
  if (given.length === 0) return object
  const entries = given.map((name) => [names[name], object[name]])
  return { ...Object.fromEntries(entries), ...object }
}

/** Whoever calls speaks as the user, also if it is an agent. */
function cleanSentMessage(message: unknown): unknown {
  const clean = cleanMessage(message)
  if (!isObject(clean)) return clean
  return clean.role === 'ROLE_AGENT' || clean.role === 2 ? { ...clean, role: 'ROLE_USER' } : clean
}

function cleanMessage(message: unknown): unknown {
  if (!isObject(message)) return message
  const { content, ...rest } = renamed(message, { parts: 'content' })
  return { ...rest, content: Array.isArray(content) ? content.map(cleanPart) : content }
}

function cleanPart(part: unknown): unknown {
  if (!isObject(part)) return part
  const { file, data } = part
  if (isObject(file)) return { ...part, file: renamed(file, { bytes: 'fileWithBytes', uri: 'fileWithUri' }) }
  return data === undefined || isDataPart(part) ? part : { ...part, data: { data } }
}

/** Where a part says by `kind` what it is, its data is never wrapped. */
function isDataPart({ kind, data }: JsonObject): boolean {
  return kind === undefined && isObject(data) && isObject(data.data) && Object.keys(data).length === 1
}

function cleanConfiguration(configuration: unknown): unknown {
  if (!isObject(configuration)) return configuration
  return renamed(configuration, {
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

function cleanAnswer(message: unknown): unknown {
  const clean = cleanMessage(message)
  return isObject(clean) ? changed({ role: 'ROLE_AGENT', ...clean }, { role: cleanRole }) : clean
}

function cleanRole(role: unknown): unknown {
  return role === 'user' || role === 'agent' ? `ROLE_${role.toUpperCase()}` : role
}

function cleanUpdate(update: unknown): unknown {
  return changed(update, { status: cleanStatus, artifact: cleanArtifact })
}

function cleanStatus(status: unknown): unknown {
  if (!isObject(status)) return status
  return changed(renamed(status, { update: 'message' }), { state: cleanState, message: cleanAnswer })
}

/** Many words are in use for states; the ones of the proto are in capitals and have a prefix. */
function cleanState(state: unknown): unknown {
  if (typeof state !== 'string') return state
  const word = state
    .toUpperCase()
    .replaceAll('-', '_')
    .replace(/^TASK_STATE_/, '')
  return `TASK_STATE_${synonyms.get(word) ?? word}`
}

const synonyms: ReadonlyMap<string, string> = new Map([
  ['CANCELED', 'CANCELLED'],
  ['PENDING', 'SUBMITTED'],
  ['RUNNING', 'WORKING'],
  ['UNKNOWN', 'UNSPECIFIED'],
])

function cleanArtifact(artifact: unknown): unknown {
  return changed(artifact, { parts: each(cleanPart) })
}
