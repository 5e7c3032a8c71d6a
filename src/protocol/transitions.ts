import type { Phase } from './states.ts'

/** Those that a task may be in once it is no longer only submitted. */
const begun: readonly Phase[] = [
  'working',
  'input-required',
  'auth-required',
  'completed',
  'failed',
  'canceled',
  'rejected',
]

const open: readonly Phase[] = ['submitted', ...begun]

/** Which state may follow which. This table is the only place that knows. */
const next: Record<Phase, readonly Phase[]> = {
  received: ['answered', ...open],
  submitted: open,
  working: begun,
  'input-required': begun,
  'auth-required': begun,
  answered: [],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
}

export function canFollow(from: Phase, to: Phase): boolean {
  return next[from].includes(to)
}
