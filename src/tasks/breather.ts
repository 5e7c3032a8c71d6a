/**
 * Memory is so fast that a busy writer would never let go of the event loop. After a burst of appends one of them
 * waits for the next turn of the loop, in which readers, sockets and timers get their share.
 */
export function createBreather(): () => Promise<void> | undefined {
  const burst = 64
  const nextTurn = globalThis.setImmediate ?? ((then: () => void) => setTimeout(then, 0))
  let appends = 0
  return () => {
    if (++appends < burst) return undefined
    appends = 0
    return new Promise((resolve) => nextTurn(resolve))
  }
}
