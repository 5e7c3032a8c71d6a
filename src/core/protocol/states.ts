import type { StatusEvent, TaskEvent } from './events.ts'
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

/** The phases in which an exchange is a task that its caller can see. */
export const taskPhases: readonly Phase[] = ['submitted', ...startedPhases]

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

function canTransition(from: Phase, to: Phase): boolean {
  return successors[from].includes(to)
}

/** The phase after an event and the status that must precede it. Undefined if the event must not follow the phase. */
export function expectedAfter(event: TaskEvent, phase: Phase): Phase | undefined {
  return phaseAfter(event, submittedBefore(event, phase) ? 'submitted' : phase)
}

/** The phase after an event. Undefined if the event must not follow the phase. */
export function phaseAfter(event: TaskEvent, phase: Phase): Phase | undefined {
  switch (event.type) {
    case 'status':
      return canTransition(phase, event.status.state) ? event.status.state : undefined
    case 'reply':
      return canTransition(phase, 'answered') ? 'answered' : undefined
    case 'artifact':
      return canTransition(phase, 'working') && phase !== 'received' ? phase : undefined
    case 'message':
    case 'cancel':
    case 'journal':
      return phase
  }
}

/**
 * The status that must precede the first event of a task. Every task begins as `submitted`, so that the first status of
 * the agent is an event of its own.
 */
export function submittedBefore(event: TaskEvent, phase: Phase | 'expired'): StatusEvent | undefined {
  if (phase !== 'received' || event.type !== 'status' || event.status.state === 'submitted') return undefined
  return { type: 'status', status: { state: 'submitted', timestamp: event.status.timestamp }, implied: true }
}

/** A status for a task without a writer. */
export function withFirstStatus(status: StatusEvent, phase: Phase | 'expired'): readonly StatusEvent[] {
  const submitted = submittedBefore(status, phase)
  return submitted ? [submitted, status] : [status]
}

/** Whether an event may be stored after a loss, because it does not claim that the task is complete. */
export function endsWithoutSuccess(event: TaskEvent): boolean {
  return event.type === 'status' && (event.status.state === 'failed' || event.status.state === 'canceled')
}

/** Whether only the holder of the lease can have stored the event. */
export function isOutput({ type }: TaskEvent): boolean {
  return type === 'journal' || type === 'artifact' || type === 'reply'
}

export function stateOrType(event: TaskEvent): string {
  return event.type === 'status' ? event.status.state : event.type
}
