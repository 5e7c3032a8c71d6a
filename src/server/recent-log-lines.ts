import { summarizeError } from '../base/error-summary.ts'
import { isObject, type Json, type JsonObject } from '../base/json.ts'
import { isLogged, type Logger, type LogLevel, logLevels } from '../base/logger.ts'
import type { LogLine } from './operator/contract.ts'

/** Lines that a process keeps, of all tasks together. */
const maxLines = 5_000

/** Lines that are shown of one task. */
const maxLinesOfTask = 500

/** The last log lines of a process. */
export interface RecentLines {
  /** Writes to the logger behind it, and keeps what is about a task. */
  readonly logger: Logger
  of(taskId: string): readonly LogLine[]
}

/** Keeps the last log lines about tasks. A line costs one store into an array: it is read only for an operator. */
export function createRecentLines(inner: Logger): RecentLines {
  const lines: RawLine[] = []
  let next = 0

  const write = (level: LogLevel) => (fields: object, message: string) => {
    if ('taskId' in fields) {
      lines[next] = { at: Date.now(), level, message, fields }
      next = (next + 1) % maxLines
    }
    inner[level](fields, message)
  }
  const [debug, info, warn, error] = logLevels.map(write) as [LogFunction, LogFunction, LogFunction, LogFunction]
  return {
    logger: { debug, info, warn, error, isLevelEnabled: (level) => isLogged(inner, level) },
    of(taskId) {
      const ordered = [...lines.slice(next), ...lines.slice(0, next)]
      const own = ordered.filter(({ fields }) => (fields as { readonly taskId?: unknown }).taskId === taskId)
      return own.slice(-maxLinesOfTask).map(({ fields, ...line }) => ({ ...line, fields: toJson(fields) }))
    },
  }
}

type LogFunction = Logger['info']

interface RawLine extends Omit<LogLine, 'fields'> {
  readonly fields: object
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
