import type { TaskState } from './model.ts'

/**
 * The state of an exchange. A message is first `received`; then the agent either answers it with a message
 * (`answered`, no task ever existed for the caller) or makes it a task, whose states follow.
 */
export type Phase = 'received' | 'answered' | TaskState

/** Those after which nothing follows. */
export type EndedPhase = 'answered' | 'completed' | 'failed' | 'canceled' | 'rejected'

const ended: ReadonlySet<Phase> = new Set<EndedPhase>(['answered', 'completed', 'failed', 'canceled', 'rejected'])

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
