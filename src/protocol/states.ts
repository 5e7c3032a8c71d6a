import type { TaskState } from './model.ts'

/**
 * The state of an exchange. A message is first `received`; then the agent either answers it with a message
 * (`answered`, no task ever existed for the caller) or makes it a task, whose states follow.
 */
export type Phase = 'received' | 'answered' | TaskState

/** Those after which nothing follows. */
export type EndedPhase = 'answered' | 'completed' | 'failed' | 'canceled' | 'rejected'

const open: readonly Phase[] = [
  'submitted',
  'working',
  'input-required',
  'auth-required',
  'completed',
  'failed',
  'canceled',
  'rejected',
]

/** Which state may follow which. This table is the only place that knows. */
const next: Record<Phase, readonly Phase[]> = {
  received: ['answered', ...open],
  submitted: open,
  working: open.filter((phase) => phase !== 'submitted'),
  'input-required': open.filter((phase) => phase !== 'submitted'),
  'auth-required': open.filter((phase) => phase !== 'submitted'),
  answered: [],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
}

export function canFollow(from: Phase, to: Phase): boolean {
  return next[from].includes(to)
}

/** Nothing follows an ended exchange. */
export function isEnded(phase: Phase): boolean {
  return next[phase].length === 0
}

/** The task waits for its caller: a blocking call returns here. */
export function isInterrupted(phase: Phase): boolean {
  return phase === 'input-required' || phase === 'auth-required'
}

/** The agent has made it a task, so that callers may know of it. */
export function isTask(phase: Phase): phase is TaskState {
  return phase !== 'received' && phase !== 'answered'
}
