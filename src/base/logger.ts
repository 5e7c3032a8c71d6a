import { type Trace, traceIdOf } from './trace-context.ts'

/** Receives log lines for the operator. Compatible with pino. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Writes warnings and errors to the console and drops the rest. */
export const consoleLogger: Logger = {
  debug() {},
  info() {},
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
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
    this.#logger.debug(this.#with(fields), this.#redact ? this.#redact(message) : message)
  }

  info(fields: object, message: string): void {
    this.#logger.info(this.#with(fields), this.#redact ? this.#redact(message) : message)
  }

  warn(fields: object, message: string): void {
    this.#logger.warn(this.#with(fields), this.#redact ? this.#redact(message) : message)
  }

  error(fields: object, message: string): void {
    this.#logger.error(this.#with(fields), this.#redact ? this.#redact(message) : message)
  }

  #with(fields: object): object {
    const { taskId, contextId } = this.#task
    const redacted = this.#redact ? this.#redact(fields) : fields
    return { taskId, contextId, ...(this.#trace && { traceId: traceIdOf(this.#trace) }), ...redacted }
  }
}

interface TaskIds {
  readonly taskId: string
  readonly contextId: string
}
