import type { StreamEvent } from '../../protocol/events.ts'
import type { ClientDialect } from '../dialect.ts'
import { isObject } from '../is-object.ts'
import { readResult } from '../read-params.ts'
import * as v0_3 from '../v0.3/decode-result.ts'
import { lift, Standard, StandardEvent } from './standard.ts'

const standard = v0_3.decodeResult

export const decodeResult: ClientDialect['decodeResult'] = {
  ...standard,
  sendMessage: (result, request) => lift(standard.sendMessage(readResult(Standard, unwrapped(result)), request)),
  getTask: (result, request) => lift(standard.getTask(readResult(Standard, result), request)),
  listTasks: (result, request) => lift(standard.listTasks(readResult(Standard, result), request)),
  cancelTask: (result, request) => lift(standard.cancelTask(readResult(Standard, result), request)),
}

export function decodeEvent(event: unknown): StreamEvent {
  return lift(v0_3.decodeEvent(readResult(StandardEvent, unwrapped(event))))
}

/** Over REST some wrap what they answer: as JSON-RPC does, or as the text of 0.3 has it. */
function unwrapped(wire: unknown): unknown {
  if (!isObject(wire) || wire.kind !== undefined) return wire
  return wire.result ?? wire.task ?? wire.message ?? wire.statusUpdate ?? wire.artifactUpdate ?? wire
}
