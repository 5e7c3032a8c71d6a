/** What waits. Tests may hand in others than those of the platform. */
export interface Timers {
  setTimeout(act: () => void, milliseconds: number): unknown
  clearTimeout(timer: unknown): void
}

export const systemTimers: Timers = {
  setTimeout: (act, milliseconds) => setTimeout(act, milliseconds),
  clearTimeout: (timer) => clearTimeout(timer as number | undefined),
}
