import { defined, isObject, type JsonObject } from '../base/json.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Task } from '../protocol/model.ts'
import { isEnded } from '../protocol/states.ts'
import { clientDialects } from './client-dialects.ts'
import type { ClientDialect } from './dialect.ts'
import type { DialectName } from './versions.ts'

/** The event of a webhook delivery, and the dialect in which it was written. */
export interface DeliveredEvent {
  readonly event: StreamEvent
  readonly dialect: DialectName
}

/** Decodes the body of a delivery by its shape, since no header names its version. Undefined if no version has the shape. */
export async function decodeDelivery(body: JsonObject): Promise<DeliveredEvent | undefined> {
  if (typeof body.kind === 'string') return await decodeBy('v0.3', (dialect) => dialect.decodeEvent(body, noRequest))
  if (wrappers.some((name) => isObject(body[name]))) return await decodeWrapped(body)
  if (typeof body.contextId === 'string' && isObject(body.status)) {
    return await decodeBy('v0.3', (dialect) =>
      toTaskEvent(dialect.decodeResult.getTask({ kind: 'task', ...body }, noRequest)),
    )
  }
  return isObject(body.status) || isObject(body.artifact) ? await decodeDraft(body) : undefined
}

const wrappers = ['task', 'message', 'statusUpdate', 'artifactUpdate', 'status_update', 'artifact_update', 'msg']

/** A delivery answers no request. */
const noRequest = { taskId: '' }

async function decodeBy(name: DialectName, read: (dialect: ClientDialect) => StreamEvent): Promise<DeliveredEvent> {
  const dialect = clientDialects.find((client) => client.name === name)
  if (!dialect) throw new Error(`There is no dialect ${name}.`)
  return { event: read(await dialect.load()), dialect: name }
}

/** 1.0, or the ProtoJSON form of 0.3. */
async function decodeWrapped(body: JsonObject): Promise<DeliveredEvent> {
  try {
    return await decodeBy('v1.0', (dialect) => dialect.decodeEvent(body, noRequest))
  } catch (error) {
    const older = decodeBy('v0.3-proto', (dialect) => dialect.decodeEvent(body, noRequest))
    return await older.catch(() => Promise.reject(error))
  }
}

function toTaskEvent(task: Task): StreamEvent {
  return { type: 'task', task, isLast: isEnded(task.status.state) }
}

/** 0.1 does not specify the form of payloads. */
async function decodeDraft({ eventType: _, taskId, ...body }: JsonObject): Promise<DeliveredEvent> {
  const wire = { ...defined({ id: taskId }), ...body }
  const isTask = ['artifacts', 'history', 'sessionId'].some((name) => name in body)
  return await decodeBy('v0.1', (dialect) =>
    isTask ? toTaskEvent(dialect.decodeResult.getTask(wire, noRequest)) : dialect.decodeEvent(wire, noRequest),
  )
}
