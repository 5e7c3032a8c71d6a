import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Task } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import type { ClientDialect, PushFormat, ServerDialect } from '../dialect.ts'
import * as v1_0 from '../v1.0/encode.ts'
import { encodeGeneration } from './schemas.ts'

/** By a call, so that the client, which encodes no results, need not contain it. */
export const encodeResult: ServerDialect['encodeResult'] = /* @__PURE__ */ countTasks(v1_0.encodeResult)

export function encodeEvent(event: StreamEvent): readonly JsonObject[] {
  const counted = event.type === 'message' ? undefined : event.type === 'task' ? event.task : event
  return v1_0.encodeEvent(event).map((wire) => addGeneration(wire, counted))
}

export const pushFormat: PushFormat = /* @__PURE__ */ countNotifications(v1_0.pushFormat)

export const encodeRequest: ClientDialect['encodeRequest'] = {
  ...v1_0.encodeRequest,
  sendMessage: encodeSend,
  streamMessage: encodeSend,
  getTask({ afterRevision, ...request }) {
    const wire = v1_0.encodeRequest.getTask(request)
    return afterRevision === undefined ? wire : { ...wire, currentGeneration: encodeGeneration(afterRevision) }
  },
}

function countTasks(encoders: typeof v1_0.encodeResult): ServerDialect['encodeResult'] {
  const encodeTask = (task: Task) => withGeneration(encoders.getTask(task), task)
  return {
    ...encoders,
    sendMessage(outcome) {
      const wire = encoders.sendMessage(outcome)
      return outcome.type === 'task' ? addGeneration(wire, outcome.task) : wire
    },
    getTask: encodeTask,
    cancelTask: encodeTask,
    listTasks(page) {
      const wire = encoders.listTasks(page)
      return { ...wire, tasks: wire.tasks.map((task, index) => withGeneration(task, page.tasks[index])) }
    },
  }
}

function countNotifications(format: PushFormat): PushFormat {
  return {
    ...format,
    encode: (event) => encodeEvent(event)[0] ?? {},
  }
}

function encodeSend(request: SendRequest): JsonObject {
  const { ifRevision, ...configuration } = request.configuration ?? {}
  if (ifRevision === undefined) return v1_0.encodeRequest.sendMessage(request)
  const wire = v1_0.encodeRequest.sendMessage({ ...request, configuration })
  const encoded = isObject(wire.configuration) ? wire.configuration : {}
  return { ...wire, configuration: { ...encoded, ifGenerationMatch: encodeGeneration(ifRevision) } }
}

/** Adds the generation to the only member of an answer or event. */
function addGeneration(wire: JsonObject, counted: Counted | undefined): JsonObject {
  const [[name, member] = ['', null]] = Object.entries(wire)
  return isObject(member) ? { [name]: withGeneration(member, counted) } : wire
}

function withGeneration(wire: JsonObject, counted: Counted | undefined): JsonObject {
  const { revision } = counted ?? {}
  return revision === undefined ? wire : { ...wire, generation: encodeGeneration(revision) as Json }
}

/** A task or an event with its revision, which agents behind a gateway may lack. */
type Counted = Pick<Task, 'revision'>
