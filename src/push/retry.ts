import type { RetryOptions } from './options.ts'

/** How long to wait after so many attempts, in milliseconds: each pause twice the last, and no two alike. */
export function pauseAfter(
  attempts: number,
  { first, longest }: Required<RetryOptions>,
  retryAfter = 0,
  random = Math.random(),
): number {
  const full = Math.min(first * 2 ** (attempts - 1), longest)
  const jittered = full * (0.5 + random / 2)
  return Math.ceil(Math.max(jittered, Math.min(retryAfter, longest)))
}
