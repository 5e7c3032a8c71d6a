import type { Socket } from 'node:net'

/**
 * Cuts off a caller that takes nothing, for so many milliseconds, of what was written to it: its answer would be held in
 * memory for as long as it likes. Most answers have gone out by now, and have no timer.
 */
export function mustRead(socket: Socket | null, timeout: number | undefined): void {
  // Node destroys a socket of HTTP whose time is up; what is read meanwhile starts it anew.
  if (timeout !== undefined && socket && socket.writableLength > 0) socket.setTimeout(timeout)
}

/** All is read, and there may be nothing more to read for a long time. */
export function mayRest(socket: Socket | null, timeout: number | undefined): void {
  if (timeout !== undefined) socket?.setTimeout(0)
}
