import { type Trace, traceIdOf } from './trace-context.ts'

/** Where the operator reads what happens. A pino logger fits. */
export interface Logger {
  debug(fields: object, message: string): void
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Says only what an operator must know, on the standard error output. */
export const consoleLogger: Logger = {
  debug() {},
  info() {},
  warn: (fields, message) => console.warn(message, fields),
  error: (fields, message) => console.error(message, fields),
}

/** Takes out what must not be in a line. */
export type Clean = <T>(value: T) => T

/** A logger that says in every line which task it is about. A class, because there is one for every turn. */
export class TaskLogger implements Logger {
  readonly #logger: Logger
  readonly #task: TaskIds
  readonly #trace: Trace | undefined
  readonly #clean: Clean | undefined

  constructor(logger: Logger, task: TaskIds, trace: Trace | undefined, clean?: Clean) {
    this.#logger = logger
    this.#task = task
    this.#trace = trace
    this.#clean = clean
  }

  debug(fields: object, message: string): void {
    this.#logger.debug(this.#with(fields), this.#clean ? this.#clean(message) : message)
  }

  info(fields: object, message: string): void {
    this.#logger.info(this.#with(fields), this.#clean ? this.#clean(message) : message)
  }

  warn(fields: object, message: string): void {
    this.#logger.warn(this.#with(fields), this.#clean ? this.#clean(message) : message)
  }

  error(fields: object, message: string): void {
    this.#logger.error(this.#with(fields), this.#clean ? this.#clean(message) : message)
  }

  #with(fields: object): object {
    const { taskId, contextId } = this.#task
    const told = this.#clean ? this.#clean(fields) : fields
    return { taskId, contextId, ...(this.#trace && { traceId: traceIdOf(this.#trace) }), ...told }
  }
}

interface TaskIds {
  readonly taskId: string
  readonly contextId: string
}
