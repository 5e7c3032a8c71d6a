import type { JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import { wrapData } from '../part-metadata.ts'
import type { Clean } from '../read.ts'
import { wrapUnknownPart } from './parts.ts'
import { states } from './schemas.ts'

export const cleanSendParams = cleaner((params) => {
  // Some take params for the message itself.
  if (params.message === undefined && params.parts !== undefined) return { message: cleanSentMessage(params) }
  const { message, messageId } = params
  // An example of the specification has the id of the message beside it.
  return isObject(message) ? { ...params, message: cleanSentMessage({ messageId, ...message }) } : params
})

/** Everywhere else the id of a task is called `taskId`. */
export const cleanTaskParams = cleaner((params) => ({ id: params.taskId, ...params }))

/** What a send answers may be an event of a stream, too. */
export const cleanEvent = cleaner((event) => {
  switch (event.kind ?? kindOfEvent(event)) {
    case 'task':
      return cleanTask(event)
    case 'message':
      return cleanMessage({ role: 'agent', ...event })
    case 'status-update':
      return { kind: 'status-update', final: false, ...event, status: cleanStatus(event.status, event.taskId) }
    case 'artifact-update':
      return { kind: 'artifact-update', ...event, artifact: cleanArtifact(event.artifact) }
  }
  return event
})

export const cleanPage = cleaner((page) => ({ ...page, tasks: cleanEach(page.tasks, cleanTask) }))

export const cleanTask = cleaner((task) => ({
  kind: 'task',
  ...task,
  status: cleanStatus(task.status, task.id),
  artifacts: cleanEach(task.artifacts, cleanArtifact),
  history: cleanEach(task.history, cleanMessage),
}))

/** What callers and agents of A2A 0.2 and 0.3 send although the schema does not allow it, put right where we can. */

/** What is no object is left to be refused by whoever reads it. */
function cleaner(clean: (wire: JsonObject) => unknown): Clean {
  return (wire) => (isObject(wire) ? clean(wire) : wire)
}

/** Whoever calls speaks as the user, also if it is an agent. */
function cleanSentMessage(message: Readonly<Record<string, unknown>>): unknown {
  return cleanMessage(message.role === 'agent' ? { ...message, role: 'user' } : message)
}

/** Empty ids are those of writers that cannot leave out a member. */
const cleanMessage = cleaner((message) => ({
  kind: 'message',
  ...message,
  contextId: message.contextId || undefined,
  taskId: message.taskId || undefined,
  parts: cleanEach(message.parts, cleanPart),
}))

function cleanEach(wires: unknown, clean: Clean): unknown {
  return Array.isArray(wires) ? wires.map(clean) : wires
}

const cleanPart = cleaner((part) => {
  const { kind = part.type ?? kindOfPart(part), data, metadata } = part
  switch (kind) {
    case 'text':
      return { ...part, kind }
    case 'file':
      return { ...part, kind, file: cleanFile(part.file) }
    case 'data':
      if (data === undefined || isObject(data)) return { ...part, kind }
      return { kind, ...wrapData(data, isObject(metadata) ? { metadata } : {}) }
  }
  return typeof part.kind === 'string' ? wrapUnknownPart(part) : part
})

function kindOfPart(part: JsonObject): string | undefined {
  return ['text', 'file', 'data'].find((kind) => part[kind] !== undefined)
}

/** As an example of the specification has it. */
const cleanFile = cleaner(({ data, ...file }) =>
  data === undefined || file.bytes !== undefined || file.uri !== undefined ? file : { ...file, bytes: data },
)

function kindOfEvent(event: JsonObject): string | undefined {
  if (event.parts !== undefined) return 'message'
  if (event.artifact !== undefined) return 'artifact-update'
  if (event.status === undefined) return undefined
  return event.taskId === undefined ? 'task' : 'status-update'
}

function cleanStatus(status: unknown, taskId: unknown): unknown {
  if (!isObject(status)) return status
  const { message, timestamp = taskId } = status
  const assumed = { role: 'agent', messageId: `status-${timestamp}` }
  return {
    ...status,
    state: cleanState(status.state),
    message: isObject(message) ? cleanMessage({ ...assumed, ...message }) : message,
  }
}

function cleanState(state: unknown): unknown {
  if (typeof state !== 'string') return state
  const given = state.toLowerCase().replaceAll('_', '-')
  const meant = otherStates.get(given) ?? given
  return states.some((known) => known === meant) ? meant : 'unknown'
}

const otherStates: ReadonlyMap<string, string> = new Map([
  ['cancelled', 'canceled'],
  ['pending', 'submitted'],
  ['running', 'working'],
])

const cleanArtifact = cleaner((artifact) => ({ ...artifact, parts: cleanEach(artifact.parts, cleanPart) }))
