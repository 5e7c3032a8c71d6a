import { summarizeError } from '../../../base/error-summary.ts'
import { isObject, type Json, type JsonObject } from '../../../base/json.ts'
import type { TaskLine } from '../../../base/logger.ts'
import type { LogLine } from '../contract.ts'

/** Lines that are shown of one task. */
const maxLines = 500

/** The last log lines about a task, as an operator reads them. */
export function logLinesOf(lines: readonly TaskLine[], taskId: string): readonly LogLine[] {
  const own = lines.filter(({ fields }) => (fields as { readonly taskId?: unknown }).taskId === taskId)
  return own.slice(-maxLines).map(({ fields, ...line }) => ({ ...line, fields: toJson(fields) }))
}

/** Fields may hold anything, also errors and cycles. */
function toJson(fields: object): JsonObject {
  const seen = new WeakSet<object>()
  const text = JSON.stringify(fields, (_name, value: unknown) => {
    if (typeof value === 'bigint') return `${value}`
    if (value instanceof Error) return summarizeError(value)
    if (typeof value !== 'object' || value === null) return value
    if (seen.has(value)) return '[repeated]'
    seen.add(value)
    return value
  })
  const json = JSON.parse(text ?? '{}') as Json
  return isObject(json) ? json : {}
}
