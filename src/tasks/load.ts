import { createFold, type Fold } from './fold.ts'
import type { NewTask, TaskLog } from './log.ts'

/** What of a log is folded. */
export type FoldedLog = Pick<TaskLog, 'head' | 'read' | 'wait' | 'snapshot' | 'keepSnapshot'>

/** So many events are cheaper to fold again than to keep a snapshot of. */
const worthKeeping = 512

/** Folds a task from its newest snapshot and what came after; a reader who had to fold much leaves a new snapshot. */
export async function loadFold(log: FoldedLog, task: NewTask): Promise<Fold> {
  const snapshot = await log.snapshot(task.taskId)
  const fold = createFold(task, snapshot)
  for (;;) {
    const stored = await log.read(task.taskId, fold.generation)
    if (stored.length === 0) break
    for (const event of stored) fold.apply(event)
  }
  const folded = fold.generation - (snapshot?.generation ?? 0)
  // Only when it has doubled, so that keeping snapshots costs each event a constant share.
  if (folded >= worthKeeping && folded >= (snapshot?.generation ?? 0)) await log.keepSnapshot(fold.snapshot())
  return fold
}

/**
 * Everything up to a generation, as what comes after it is read on. The first event of a task has nothing before it, so
 * that reading may as well begin there.
 */
export async function foldUntil(log: FoldedLog, task: NewTask, last: number): Promise<Fold> {
  if (last === 1) return createFold(task)
  const snapshot = await log.snapshot(task.taskId)
  const fold = createFold(task, snapshot && snapshot.generation <= last ? snapshot : undefined)
  while (fold.generation < last) {
    const stored = await log.read(task.taskId, fold.generation)
    if (stored.length === 0) break
    for (const event of stored) if (event.generation <= last) fold.apply(event)
  }
  return fold
}
