import type { TaskState } from './model.ts'

const ended: ReadonlySet<Phase> = new Set<EndedPhase>(['answered', 'completed', 'failed', 'canceled', 'rejected'])

/**
 * The state of an exchange. A message is first `received`; then the agent either answers it with a message
 * (`answered`, no task ever existed for the caller) or makes it a task, whose states follow.
 */
export type Phase = 'received' | 'answered' | TaskState

/** Nothing follows an ended exchange. */
export function isEnded(phase: Phase): boolean {
  return ended.has(phase)
}

/** The task waits for its caller: a blocking call returns here. */
export function isInterrupted(phase: Phase): boolean {
  return phase === 'input-required' || phase === 'auth-required'
}

/** The agent has made it a task, so that callers may know of it. */
export function isTask(phase: Phase): phase is TaskState {
  return phase !== 'received' && phase !== 'answered'
}

export function canTransition(from: Phase, to: Phase): boolean {
  return next[from].includes(to)
}

/** Those after which nothing follows. */
export type EndedPhase = 'answered' | 'completed' | 'failed' | 'canceled' | 'rejected'

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
