import { isObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Task } from '../../protocol/model.ts'
import type { ClientDialect } from '../dialect.ts'
import * as v1_0 from '../v1.0/decode.ts'
import { decodeGeneration } from './schemas.ts'

export const decodeResult: ClientDialect['decodeResult'] = {
  ...v1_0.decodeResult,
  sendMessage(wire, request) {
    const outcome = v1_0.decodeResult.sendMessage(wire, request)
    return outcome.type === 'task' ? { ...outcome, task: withRevision(outcome.task, memberOf(wire, 'task')) } : outcome
  },
  getTask: (wire, request) => withRevision(v1_0.decodeResult.getTask(wire, request), wire),
  cancelTask: (wire, request) => withRevision(v1_0.decodeResult.cancelTask(wire, request), wire),
  listTasks(wire, request) {
    const page = v1_0.decodeResult.listTasks(wire, request)
    const listed = memberOf(wire, 'tasks')
    const wires: readonly unknown[] = Array.isArray(listed) ? listed : []
    return { ...page, tasks: page.tasks.map((task, index) => withRevision(task, wires[index])) }
  },
}

export function decodeEvent(wire: unknown): StreamEvent {
  const event = v1_0.decodeEvent(wire)
  switch (event.type) {
    case 'message':
      return event
    case 'task':
      return { ...event, task: withRevision(event.task, memberOf(wire, 'task')) }
    case 'status':
      return withRevision(event, memberOf(wire, 'statusUpdate'))
    case 'artifact':
      return withRevision(event, memberOf(wire, 'artifactUpdate'))
  }
}

function withRevision<T extends Pick<Task, 'revision'>>(decoded: T, wire: unknown): T {
  const revision = decodeGeneration(memberOf(wire, 'generation'))
  return revision === undefined ? decoded : { ...decoded, revision }
}

function memberOf(wire: unknown, name: string): unknown {
  return isObject(wire) ? wire[name] : undefined
}
