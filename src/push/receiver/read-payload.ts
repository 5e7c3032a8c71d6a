import { allClients } from '../../dialects/all-clients.ts'
import type { ClientDialect, DialectName } from '../../dialects/dialect.ts'
import { orLeniently } from '../../dialects/or-leniently.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Task } from '../../protocol/model.ts'
import { isEnded } from '../../protocol/states.ts'
import { Refusal } from './refusal.ts'

export interface Payload {
  readonly event: StreamEvent
  readonly dialect: DialectName
}

type Wire = Readonly<Record<string, unknown>>

/** What a webhook is told, by the marks of the version that tells it: nothing else says which it is. */
export async function readPayload(body: unknown): Promise<Payload> {
  if (!isObject(body)) throw new Refusal('payload', `The payload must be a JSON object, not ${nameOf(body)}.`)
  try {
    return await decode(body)
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    throw new Refusal('payload', `The payload cannot be understood: ${error.message}`, { cause: error })
  }
}

const wrappers = ['task', 'message', 'statusUpdate', 'artifactUpdate', 'status_update', 'artifact_update', 'msg']

async function decode(body: Wire): Promise<Payload> {
  if (typeof body.kind === 'string') return await decodeBy('v0.3', (dialect) => dialect.decodeEvent(body, nothing))
  if (wrappers.some((name) => isObject(body[name]))) return await decodeWrapped(body)
  if (typeof body.contextId === 'string' && isObject(body.status)) {
    return await decodeBy('v0.3', (dialect) => told(dialect.decodeResult.getTask({ kind: 'task', ...body }, nothing)))
  }
  if (isObject(body.status) || isObject(body.artifact)) return await decodeDraft(body)
  const expected = 'a task, or one of task, message, statusUpdate, artifactUpdate'
  throw new Refusal('payload', `The payload is none of A2A: expected ${expected}.`)
}

/** 1.0, or 0.3 as its protocol buffers have it. */
async function decodeWrapped(body: Wire): Promise<Payload> {
  try {
    return await decodeBy('v1.0', (dialect) => dialect.decodeEvent(body, nothing))
  } catch (error) {
    const older = decodeBy('v0.3-proto', (dialect) => dialect.decodeEvent(body, nothing))
    return await older.catch(() => Promise.reject(error))
  }
}

/** 0.1 leaves the form to the agent. */
async function decodeDraft({ eventType: _, taskId, ...body }: Wire): Promise<Payload> {
  const wire = { ...(taskId !== undefined && { id: taskId }), ...body }
  const isTask = ['artifacts', 'history', 'sessionId'].some((name) => name in body)
  return await decodeBy('v0.1', (dialect) =>
    isTask ? told(dialect.decodeResult.getTask(wire, nothing)) : dialect.decodeEvent(wire, nothing),
  )
}

/** Nobody asked. */
const nothing = { taskId: '' }

async function decodeBy(name: DialectName, read: (dialect: ClientDialect) => StreamEvent): Promise<Payload> {
  const known = allClients.find((each) => each.name === name)
  if (!known) throw new Error(`There is no dialect ${name}.`)
  return { event: await orLeniently(await known.load(), read), dialect: name }
}

function told(task: Task): StreamEvent {
  return { type: 'task', task, isLast: isEnded(task.status.state) }
}

function isObject(value: unknown): value is Wire {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function nameOf(value: unknown): string {
  return Array.isArray(value) ? 'a list' : value === null ? 'null' : `a ${typeof value}`
}
