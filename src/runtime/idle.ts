import type { Clock, Timer } from '../protocol/clock.ts'

/** Notices a turn that gives no sign of life. */
export interface Idle {
  /** A sign of life. It costs nothing but a look at the clock, for a turn may give very many. */
  touch(): void
  /** It waits for its caller, which may take long. */
  hold(): void
  close(): void
}

export function watchIdle(clock: Clock, timeout: number, onIdle: () => void): Idle {
  let last = clock.now()
  let timer: Timer | undefined = clock.setTimeout(look, timeout)

  function look(): void {
    const left = last + timeout - clock.now()
    if (left <= 0) onIdle()
    else timer = clock.setTimeout(look, left)
  }

  return {
    touch() {
      last = clock.now()
      timer ??= clock.setTimeout(look, timeout)
    },
    hold() {
      clock.clearTimeout(timer)
      timer = undefined
    },
    close: () => clock.clearTimeout(timer),
  }
}
