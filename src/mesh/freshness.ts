import { MeshError, type StandardCode } from './errors.ts'

/** How many milliseconds a message may be old, and ahead of our clock; both bounds are still fine. */
const maxAge = 300_000
export const maxAhead = 60_000

/** By how much the clocks of replicas may differ, and a clock may be set back. */
const slack = 10_000

/** For so long every message that was seen is remembered: nobody can be asked to take it again later. */
export const memory = maxAge + maxAhead + slack

/** Throws unless the moment is of now. */
export function checkFresh(timestamp: string, now: number, code: StandardCode = 'VALIDATION_FAILED'): void {
  const age = now - Date.parse(timestamp)
  if (age > maxAge) {
    throw new MeshError(code, `The message is older than ${maxAge / 1000} seconds: send a new one.`, {
      details: { reason: 'STALE', age_seconds: Math.round(age / 1000) },
    })
  }
  if (age < -maxAhead) {
    throw new MeshError(
      code,
      `The message is more than ${maxAhead / 1000} seconds ahead: set the clock of its sender.`,
      {
        details: { reason: 'FUTURE', ahead_seconds: Math.round(-age / 1000) },
      },
    )
  }
}
