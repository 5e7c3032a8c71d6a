import { isObject } from '../is-object.ts'
import { cleanMessage, cleanPart, renamed } from './lenient.ts'
import { configName } from './names.ts'

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

const wrapperOfKind: ReadonlyMap<unknown, string> = new Map([
  ['task', 'task'],
  ['message', 'message'],
  ['status-update', 'statusUpdate'],
  ['artifact-update', 'artifactUpdate'],
])

function cleanUpdate(update: unknown): unknown {
  return changed(update, { status: cleanStatus, artifact: cleanArtifact })
}

export function cleanTask(task: unknown): unknown {
  return changed(task, { status: cleanStatus, artifacts: each(cleanArtifact), history: each(cleanAnswer) })
}

/** The text of 0.3 has a bare list here. */
export function cleanTasks(page: unknown): unknown {
  const wrapped = Array.isArray(page) ? { tasks: page, pageSize: page.length, totalSize: page.length } : page
  return changed(wrapped, { tasks: each(cleanTask) })
}

export function cleanConfigs(page: unknown): unknown {
  return changed(Array.isArray(page) ? { configs: page } : page, { configs: each(cleanConfig) })
}

export function cleanConfig(config: unknown): unknown {
  if (!isObject(config) || typeof config.taskId !== 'string') return config
  const { taskId, pushNotificationConfig } = config
  const id = isObject(pushNotificationConfig) ? pushNotificationConfig.id : undefined
  return { name: configName({ taskId, id: typeof id === 'string' ? id : taskId }), ...config }
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

function cleanAnswer(message: unknown): unknown {
  const clean = cleanMessage(message)
  return isObject(clean) ? changed({ role: 'ROLE_AGENT', ...clean }, { role: cleanRole }) : clean
}

function cleanRole(role: unknown): unknown {
  return role === 'user' || role === 'agent' ? `ROLE_${role.toUpperCase()}` : role
}

type Change = (value: unknown) => unknown

function each(change: Change): Change {
  return (list) => (Array.isArray(list) ? list.map(change) : list)
}

/** A copy in which the members that are there have been changed. */
function changed(value: unknown, changes: Readonly<Record<string, Change>>): unknown {
  if (!isObject(value)) return value
  const entries = Object.entries(changes).filter(([member]) => value[member] !== undefined)
  return { ...value, ...Object.fromEntries(entries.map(([member, change]) => [member, change(value[member])])) }
}
