import type { TaskLog } from '../../../src/core/tasks/log.ts'

/** The view of one process on a log. After `kill`, no call of that process reaches the log or returns. */
export interface KillableLog {
  readonly log: TaskLog
  kill(): void
}

export function killableLog(log: TaskLog): KillableLog {
  let isKilled = false
  const unlessKilled =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (isKilled) return await new Promise<never>(() => {})
      const result = await work(...args)
      return isKilled ? await new Promise<never>(() => {}) : result
    }
  return {
    kill() {
      isKilled = true
    },
    log: {
      create: unlessKilled(log.create),
      append: unlessKilled(log.append),
      head: unlessKilled(log.head),
      read: unlessKilled(log.read),
      wait: unlessKilled(log.wait),
      snapshot: unlessKilled(log.snapshot),
      keepSnapshot: unlessKilled(log.keepSnapshot),
      list: unlessKilled(log.list),
      claimed: unlessKilled(log.claimed),
      acquire: unlessKilled(log.acquire),
      renew: unlessKilled(log.renew),
      release: unlessKilled(log.release),
      orphans: unlessKilled(log.orphans),
      expire: unlessKilled(log.expire),
      forget: unlessKilled(log.forget),
      erase: unlessKilled(log.erase),
      close: unlessKilled(log.close),
    },
  }
}
