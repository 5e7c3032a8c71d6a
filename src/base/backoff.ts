export interface Backoff {
  /** How often in a row something may fail before it is given up. */
  readonly tries: number
  /** Milliseconds before the second try; each later pause is twice as long. */
  readonly minDelay: number
  readonly maxDelay: number
}

/** Milliseconds to wait after so many failures: half of it fixed, half by chance, so that not all come back at once. */
export function delayAfter(failures: number, { minDelay, maxDelay }: Backoff, random = Math.random): number {
  const delay = Math.min(maxDelay, minDelay * 2 ** Math.max(0, failures - 1))
  return delay / 2 + (delay / 2) * random()
}

/** How long to wait after so many attempts, in milliseconds: each pause twice the last, and no two alike. */
export function pauseAfter(
  attempts: number,
  { first, longest }: { readonly first: number; readonly longest: number },
  retryAfter = 0,
  random = Math.random(),
): number {
  const full = Math.min(first * 2 ** (attempts - 1), longest)
  const jittered = full * (0.5 + random / 2)
  return Math.ceil(Math.max(jittered, Math.min(retryAfter, longest)))
}
