import type { Json, JsonObject } from '../../protocol/model.ts'
import type { Journal } from '../journal.ts'

/** Whether a turn has asked other agents that have not come to an end, as far as its journal knows. */
export function hasOpenCalls({ steps }: Pick<Journal, 'steps'>): boolean {
  const open = new Set<string>()
  for (const { it } of steps.values()) {
    const [, call, stage] = /^(.*): (send|follow)$/s.exec(it.step) ?? []
    if (call === undefined || !isObject(it.result)) continue
    if (stage === 'send' && 'link' in it.result) open.add(call)
    if (stage === 'follow' && !('asks' in it.result)) open.delete(call)
  }
  return open.size > 0
}

function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
