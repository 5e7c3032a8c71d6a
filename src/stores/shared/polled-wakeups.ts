import { createWakeups, type Wakeups } from '../../core/tasks/follow.ts'

/** Wakeups whose readers also wake at every interval, because other processes may have made changes. */
export interface PolledWakeups extends Pick<Wakeups, 'wait' | 'wakeAll'> {
  close(): void
}

/** `interval` is in milliseconds. The timer runs only while a reader waits, and does not keep the process alive. */
export function createPolledWakeups(interval: number): PolledWakeups {
  const wakeups = createWakeups()
  const { wakeAll } = wakeups
  let timer: NodeJS.Timeout | undefined

  function poll(): void {
    wakeAll()
    if (wakeups.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  return {
    wait(name, signal) {
      timer ??= setInterval(poll, interval).unref()
      return wakeups.wait(name, signal)
    },
    wakeAll,
    close() {
      clearInterval(timer)
      wakeAll()
    },
  }
}
