import type { StreamEvent } from '../../protocol/events.ts'
import type { ClientDialect, RequestOf, StreamOperation } from '../dialect.ts'
import { isObject } from '../is-object.ts'
import { readResult } from '../read-params.ts'
import { v0_3Whole } from '../v0.3/whole.ts'
import { lift, Standard, StandardEvent } from './standard.ts'

const { decodeResult: standard, decodeEvent: decodeStandard } = v0_3Whole

export const decodeResult: ClientDialect['decodeResult'] = {
  ...standard,
  sendMessage: (result, request) => lift(standard.sendMessage(readResult(Standard, unwrapped(result)), request)),
  getTask: (result, request) => lift(standard.getTask(readResult(Standard, result), request)),
  listTasks: (result, request) => lift(standard.listTasks(readResult(Standard, result), request)),
  cancelTask: (result, request) => lift(standard.cancelTask(readResult(Standard, result), request)),
}

export function decodeEvent(event: unknown, request: RequestOf<StreamOperation>): StreamEvent {
  return lift(decodeStandard(readResult(StandardEvent, unwrapped(event)), request))
}

/** Over REST some wrap what they answer: as JSON-RPC does, or as the text of 0.3 has it. */
function unwrapped(wire: unknown): unknown {
  if (!isObject(wire) || wire.kind !== undefined) return wire
  return wire.result ?? wire.task ?? wire.message ?? wire.statusUpdate ?? wire.artifactUpdate ?? wire
}
