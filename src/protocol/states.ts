import type { TaskState } from './model.ts'

/**
 * The state of an exchange. A message is `received` first. Then the agent either answers with a message (`answered`: the
 * caller never sees a task), or turns it into a task, whose states follow.
 */
export type Phase = 'received' | 'answered' | TaskState

/** The phases without a successor. */
export type EndedPhase = (typeof endedPhases)[number]

export const endedPhases = [
  'answered',
  'completed',
  'failed',
  'canceled',
  'rejected',
  'unknown',
] as const satisfies readonly Phase[]

const ended: ReadonlySet<Phase> = new Set(endedPhases)

/** The phases of a task after `submitted`. */
const startedPhases: readonly Phase[] = [
  'working',
  'input-required',
  'auth-required',
  'completed',
  'failed',
  'canceled',
  'rejected',
  'unknown',
]

const taskPhases: readonly Phase[] = ['submitted', ...startedPhases]

/** The state machine of an exchange: the allowed successors of each phase. */
const successors: Record<Phase, readonly Phase[]> = {
  received: ['answered', ...taskPhases],
  submitted: taskPhases,
  working: startedPhases,
  'input-required': startedPhases,
  'auth-required': startedPhases,
  answered: [],
  completed: [],
  failed: [],
  canceled: [],
  rejected: [],
  unknown: [],
}

/** Whether no phase can follow. */
export function isEnded(phase: Phase): boolean {
  return ended.has(phase)
}

/** Whether the task waits for its caller: a blocking call returns then. */
export function isInterrupted(phase: Phase): phase is 'input-required' | 'auth-required' {
  return phase === 'input-required' || phase === 'auth-required'
}

/** Whether the agent still has to work on the task, and does not wait for its caller. */
export function isInProgress(phase: Phase): phase is 'submitted' | 'working' {
  return phase === 'submitted' || phase === 'working'
}

/** Whether the exchange is a task that its caller can see. */
export function isTask(phase: Phase): phase is TaskState {
  return phase !== 'received' && phase !== 'answered'
}

export function canTransition(from: Phase, to: Phase): boolean {
  return successors[from].includes(to)
}
