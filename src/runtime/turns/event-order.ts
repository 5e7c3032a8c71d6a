import type { StatusEvent, TaskEvent } from '../../protocol/events.ts'
import { canTransition, type Phase } from '../../protocol/states.ts'
import type { TaskHead } from '../../tasks/log.ts'

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

/**
 * The status that must precede the first event of a task. Every task begins as `submitted`, so that the first status of
 * the agent is an event of its own.
 */
export function submittedBefore(event: TaskEvent, phase: TaskHead['phase']): StatusEvent | undefined {
  if (phase !== 'received' || event.type !== 'status' || event.status.state === 'submitted') return undefined
  return { type: 'status', status: { state: 'submitted', timestamp: event.status.timestamp }, implied: true }
}

/** A status for a task without a writer. */
export function withFirstStatus(status: StatusEvent, phase: TaskHead['phase']): readonly StatusEvent[] {
  const submitted = submittedBefore(status, phase)
  return submitted ? [submitted, status] : [status]
}
