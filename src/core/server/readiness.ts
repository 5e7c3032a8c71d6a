import type { Logger } from '../base/logger.ts'
import { loggedError } from '../protocol/errors.ts'
import type { TaskLog } from '../tasks/log.ts'

/** How long a result is reused, because a check writes to the store and needs no credentials. In milliseconds. */
const maxAge = 1_000

/** Milliseconds after which a store that has not answered counts as unavailable. */
const timeout = 3_000

/** Whether the store can be read and written. */
export type IsReady = () => Promise<boolean>

/** Checks the store of an agent for load balancers, and logs when it stops to work and when it works again. */
export function createReadiness(log: Pick<TaskLog, 'check'>, logger: Logger): IsReady {
  let isUsable = true
  let checkedAt = Number.NEGATIVE_INFINITY
  let running: RunningCheck | undefined

  function finish(failure?: { readonly error: unknown }): boolean {
    running = undefined
    checkedAt = performance.now()
    if (isUsable && failure) {
      logger.error({ error: loggedError(failure.error) }, 'not ready: the task log cannot be used')
    } else if (!isUsable && !failure) logger.info({}, 'ready again: the task log can be used')
    isUsable = failure === undefined
    return isUsable
  }

  function start(): RunningCheck {
    const result = (log.check?.() ?? Promise.resolve()).then(
      () => finish(),
      (error) => finish({ error }),
    )
    return { startedAt: performance.now(), result }
  }

  return async () => {
    const now = performance.now()
    if (!log.check || (!running && now - checkedAt < maxAge)) return isUsable
    running ??= start()
    return await orFalse(running.result, Math.max(0, running.startedAt + timeout - now))
  }
}

interface RunningCheck {
  readonly startedAt: number
  readonly result: Promise<boolean>
}

async function orFalse(result: Promise<boolean>, milliseconds: number): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), milliseconds)
  const first = await Promise.race([result, late])
  clearTimeout(timer)
  return first
}
