import type { TaskLog } from '../../../src/tasks/log.ts'

/** A log as one process has it: once it is killed, nothing more of that process reaches the log, nor the other way. */
export interface KillableLog {
  readonly log: TaskLog
  kill(): void
}

export function killableLog(log: TaskLog): KillableLog {
  let isDead = false
  const until =
    <A extends unknown[], R>(work: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (isDead) return await new Promise<never>(() => {})
      const result = await work(...args)
      return isDead ? await new Promise<never>(() => {}) : result
    }
  return {
    kill() {
      isDead = true
    },
    log: {
      create: until(log.create),
      append: until(log.append),
      head: until(log.head),
      read: until(log.read),
      wait: until(log.wait),
      snapshot: until(log.snapshot),
      keepSnapshot: until(log.keepSnapshot),
      list: until(log.list),
      claimed: until(log.claimed),
      acquire: until(log.acquire),
      renew: until(log.renew),
      release: until(log.release),
      orphans: until(log.orphans),
      expire: until(log.expire),
      forget: until(log.forget),
      erase: until(log.erase),
      close: until(log.close),
    },
  }
}
