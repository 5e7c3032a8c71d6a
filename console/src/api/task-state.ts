import type { TaskRow } from 'parley-a2a/operator'
import { isForeign } from './agents.ts'

const openPhases: ReadonlySet<string> = new Set(['received', 'submitted', 'working', 'input-required', 'auth-required'])

/** Whether the task can still change. */
export function isOpen({ phase }: Pick<TaskRow, 'phase'>): boolean {
  return openPhases.has(phase)
}

/**
 * Whether no process works on a task that should be worked on. The server leaves expired leases out; their times in a row
 * are not compared, because processes extend leases without a change of the row. Which process works for an agent of another
 * server is not known.
 */
export function isStuck({ agent, phase, lease }: Pick<TaskRow, 'agent' | 'phase' | 'lease'>): boolean {
  return phase === 'working' && lease === undefined && !isForeign(agent)
}
