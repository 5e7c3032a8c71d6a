import { defined } from './json.ts'
import { type Trace, traceIdOf } from './trace-context.ts'

export const logLevels = ['debug', 'info', 'warn', 'error'] as const

/** The levels of log lines. */
export type LogLevel = (typeof logLevels)[number]

/** Receives log lines for the operator. Compatible with pino. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
  /** Whether lines of this level are written. Without it, they all are. It saves the work for lines that are dropped. */
  isLevelEnabled?(level: LogLevel): boolean
}

/** Writes warnings and errors to the console and drops the rest. */
export const consoleLogger: Logger = {
  debug() {},
  info() {},
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
  isLevelEnabled: (level) => level === 'warn' || level === 'error',
}

/** Whether the logger writes lines of this level. */
export function isLogged(logger: Logger, level: LogLevel): boolean {
  return logger.isLevelEnabled?.(level) ?? true
}

/** Removes secrets from a log line. */
export type Redact = <T>(value: T) => T

/** Adds the task and its trace to every line. A class, because there is one per turn. */
export class TaskLogger implements Logger {
  readonly #logger: Logger
  readonly #task: TaskIds
  readonly #trace: Trace | undefined
  readonly #redact: Redact | undefined

  constructor(logger: Logger, task: TaskIds, trace: Trace | undefined, redact?: Redact) {
    this.#logger = logger
    this.#task = task
    this.#trace = trace
    this.#redact = redact
  }

  debug(fields: object, message: string): void {
    this.#write('debug', fields, message)
  }

  info(fields: object, message: string): void {
    this.#write('info', fields, message)
  }

  warn(fields: object, message: string): void {
    this.#write('warn', fields, message)
  }

  error(fields: object, message: string): void {
    this.#write('error', fields, message)
  }

  isLevelEnabled(level: LogLevel): boolean {
    return isLogged(this.#logger, level)
  }

  #write(level: LogLevel, fields: object, message: string): void {
    if (!this.isLevelEnabled(level)) return
    const { taskId, contextId } = this.#task
    const redacted = this.#redact ? this.#redact(fields) : fields
    const traced = { taskId, contextId, ...defined({ traceId: this.#trace && traceIdOf(this.#trace) }), ...redacted }
    this.#logger[level](traced, this.#redact ? this.#redact(message) : message)
  }
}

interface TaskIds {
  readonly taskId: string
  readonly contextId: string
}
