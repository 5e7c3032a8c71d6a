import type { TaskRow } from 'parley-a2a/operator'

const openPhases: ReadonlySet<string> = new Set(['received', 'submitted', 'working', 'input-required', 'auth-required'])

/** Whether the task can still change. */
export function isOpen({ phase }: Pick<TaskRow, 'phase'>): boolean {
  return openPhases.has(phase)
}

/** Whether no process works on a task that should be worked on. */
export function isStuck({ phase, lease }: Pick<TaskRow, 'phase' | 'lease'>): boolean {
  return phase === 'working' && (lease === undefined || lease.expires < Date.now())
}
