import { summarizeError } from '../core/base/error-summary.ts'
import { isObject, type Json, type JsonObject } from '../core/base/json.ts'
import { isLogged, type Logger, type LogLevel } from '../core/base/logger.ts'

/** Lines that a process keeps of an agent, of all tasks together. */
const maxKept = 1_000

/** Characters of the fields of a line that an operator reads. */
const maxFields = 16 * 1024

/** A log line about a task, with its fields as they were logged. */
export interface TaskLine {
  /** Counts the lines of the agent in this process, from 1 on. */
  readonly number: number
  readonly taskId: string
  /** In milliseconds since 1970. */
  readonly at: number
  readonly level: LogLevel
  readonly message: string
  readonly fields: object
}

/** Writes to another logger, and keeps the last lines about tasks. */
export interface KeepingLogger {
  readonly logger: Logger
  /** The kept lines, oldest first. */
  taskLines(): readonly TaskLine[]
}

/** Keeps the last lines about tasks for an operator. A line costs one store into an array, and what `onLine` does. */
export function keepTaskLines(inner: Logger, onLine: (line: TaskLine) => void = () => {}): KeepingLogger {
  const lines: TaskLine[] = []
  let count = 0

  const writerOf = (level: LogLevel) => (fields: object, message: string) => {
    const { taskId } = fields as { readonly taskId?: unknown }
    if (typeof taskId === 'string') {
      const line = { number: count + 1, taskId, at: Date.now(), level, message, fields }
      lines[count++ % maxKept] = line
      onLine(line)
    }
    inner[level](fields, message)
  }
  return {
    logger: {
      debug: writerOf('debug'),
      info: writerOf('info'),
      warn: writerOf('warn'),
      error: writerOf('error'),
      isLevelEnabled: (level) => isLogged(inner, level),
    },
    taskLines: () => [...lines.slice(count % maxKept), ...lines.slice(0, count % maxKept)],
  }
}

/** A line as it is stored, beside its time. */
export function encodeTaskLine(line: TaskLine, process: string): string {
  const { number, level, message } = line
  return JSON.stringify({ number, level, message, fields: fieldsOf(line), process })
}

/** The fields of a line as JSON. They may hold anything, also errors and cycles. */
export function fieldsOf({ fields }: TaskLine): JsonObject {
  const seen = new WeakSet<object>()
  const text = JSON.stringify(fields, (_name, value: unknown) => {
    if (typeof value === 'bigint') return `${value}`
    if (value instanceof Error) return summarizeError(value)
    if (typeof value !== 'object' || value === null) return value
    if (seen.has(value)) return '[repeated]'
    seen.add(value)
    return value
  })
  if ((text ?? '').length > maxFields) return { shortened: `${text.slice(0, maxFields)}…` }
  const json = JSON.parse(text ?? '{}') as Json
  return isObject(json) ? json : {}
}
