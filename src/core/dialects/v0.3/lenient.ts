import { defined, isList, isObject, type JsonObject } from '../../base/json.ts'
import { type Clean, wrapData } from '../legacy-codec.ts'
import { standardKinds, wrapList, wrapUnknownPart } from './parts.ts'
import { states } from './schemas.ts'

// Repairs what 0.2 and 0.3 clients and agents send although the schema does not allow it.

export const cleanSendParams = /* @__PURE__ */ cleaner((params) => {
  // Some clients send the message itself as the params.
  if (params.message === undefined && params.parts !== undefined) return { message: cleanSentMessage(params) }
  const { message, messageId } = params
  // In an example of the specification, the message id is beside the message.
  return isObject(message) ? { ...params, message: cleanSentMessage({ messageId, ...message }) } : params
})

/** Everywhere else, the id of a task is called `taskId`. */
export const cleanTaskParams = /* @__PURE__ */ cleaner((params) => ({ id: params.taskId, ...params }))

/** Cleans a stream event, or the result of a send, which is one of them. */
export const cleanEvent = cleaner((event) => {
  switch (event.kind ?? kindOfEvent(event)) {
    case 'task':
      return cleanTask(event)
    case 'message':
      return cleanMessage({ role: 'agent', ...event })
    case 'status-update':
      return { kind: 'status-update', final: false, ...event, status: cleanStatus(event.status, event.taskId) }
    case 'artifact-update':
      return cleanArtifactUpdate(event)
  }
  return event
})

export const cleanPage = cleaner((page) => {
  const tasks = cleanItems(page.tasks ?? [], cleanTask)
  const count = Array.isArray(tasks) ? tasks.length : 0
  const { nextPageToken, pageSize, totalSize } = page
  const defaults = { nextPageToken: nextPageToken ?? '', pageSize: pageSize ?? count, totalSize: totalSize ?? count }
  return { ...page, ...defaults, tasks }
})

export const cleanTask = cleaner((task) => ({
  kind: 'task',
  ...task,
  status: cleanStatus(task.status, task.id),
  artifacts: cleanItems(task.artifacts, cleanArtifact),
  history: Array.isArray(task.history) ? task.history.map(cleanHistoryMessage) : task.history,
}))

/** Some agents keep messages without an id in the history. */
function cleanHistoryMessage(message: unknown, index: number): unknown {
  return isObject(message) ? cleanMessage({ messageId: `history-${index}`, ...message }) : message
}

/** House agents may send one part with its position instead of an artifact. */
function cleanArtifactUpdate(event: JsonObject): unknown {
  const { part, index = 0, artifact, ...update } = event
  if (artifact !== undefined || !isObject(part)) {
    return { kind: 'artifact-update', ...event, artifact: cleanArtifact(artifact) }
  }
  const { index: _, append, lastChunk, ...content } = part
  return {
    kind: 'artifact-update',
    ...defined({
      append: typeof append === 'boolean' ? append : undefined,
      lastChunk: typeof lastChunk === 'boolean' ? lastChunk : undefined,
    }),
    ...update,
    artifact: { artifactId: `artifact-${index}`, parts: [cleanPart(content)] },
  }
}

/** Non-objects pass through; the schema rejects them. */
function cleaner(clean: (wire: JsonObject) => unknown): Clean {
  return (wire) => (isObject(wire) ? clean(wire) : wire)
}

/** A caller has the role of the user, even if it is an agent. Its parts must be those of 0.3: others are rejected. */
function cleanSentMessage(message: Readonly<Record<string, unknown>>): unknown {
  const sent = message.role === 'agent' ? { ...message, role: 'user' } : message
  return { ...withDefaults(sent), parts: cleanItems(message.parts, cleanSentPart) }
}

const cleanMessage = cleaner((message) => ({
  ...withDefaults(message),
  parts: cleanItems(message.parts, cleanPart),
}))

/** Some clients cannot leave out a member, and send empty ids. */
function withDefaults(message: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { contextId, taskId } = message
  return { kind: 'message', ...message, contextId: contextId || undefined, taskId: taskId || undefined }
}

/** Agents in Go write an empty list as null. */
function cleanItems(list: unknown, clean: Clean): unknown {
  return Array.isArray(list) ? list.map(clean) : list === null ? [] : list
}

/** Repairs a part of a caller. The text of 0.2 allows lists as data, its schema does not. */
const cleanSentPart = cleaner((part) => {
  const { kind = part.type ?? kindOfPart(part), data } = part
  switch (kind) {
    case 'file':
      return { ...part, kind, file: cleanFile(part.file) }
    case 'data':
      return isList(data) ? wrapList(data, part.metadata) : { ...part, kind }
  }
  return kind === undefined ? part : { ...part, kind }
})

/** Also reads parts of agents whose kind or data 0.3 does not have: they must not make a task unreadable. */
const cleanPart = cleaner((part) => {
  const cleaned = cleanSentPart(part)
  if (!isObject(cleaned)) return cleaned
  const { kind, data, metadata } = cleaned
  if (kind === 'data' && data !== undefined && !isObject(data)) {
    return { kind, ...wrapData(data, isObject(metadata) ? { metadata } : {}) }
  }
  const isUnknown = typeof part.kind === 'string' && !standardKinds.has(part.kind)
  return isUnknown ? wrapUnknownPart(part) : cleaned
})

function kindOfPart(part: JsonObject): string | undefined {
  return ['text', 'file', 'data'].find((kind) => part[kind] !== undefined)
}

/** In an example of the specification, the bytes of a file are in `data`. */
const cleanFile = cleaner(({ data, ...file }) =>
  data === undefined || file.bytes !== undefined || file.uri !== undefined ? file : { ...file, bytes: data },
)

function kindOfEvent(event: JsonObject): string | undefined {
  if (event.parts !== undefined) return 'message'
  if (event.artifact !== undefined || event.part !== undefined) return 'artifact-update'
  if (event.status === undefined) return undefined
  return event.taskId === undefined ? 'task' : 'status-update'
}

function cleanStatus(status: unknown, taskId: unknown): unknown {
  if (!isObject(status)) return status
  const { message, timestamp = taskId } = status
  // An object may not be convertible to a text; the schema rejects it.
  const messageId = typeof timestamp === 'object' ? 'status' : `status-${timestamp}`
  const defaults = { role: 'agent', messageId }
  return {
    ...status,
    state: cleanState(status.state),
    message: isObject(message) ? cleanMessage({ ...defaults, ...message }) : message,
  }
}

/** A state without a meaning here does not say that the task has ended. */
function cleanState(value: unknown): unknown {
  if (typeof value !== 'string') return value
  const kebabCase = value.toLowerCase().replaceAll('_', '-')
  const state = stateSynonyms.get(kebabCase) ?? kebabCase
  return states.some((name) => name === state) ? state : 'working'
}

const stateSynonyms: ReadonlyMap<string, string> = new Map([
  ['cancelled', 'canceled'],
  ['pending', 'submitted'],
  ['started', 'submitted'],
  ['running', 'working'],
])

const cleanArtifact = cleaner((artifact) => ({ ...artifact, parts: cleanItems(artifact.parts, cleanPart) }))
