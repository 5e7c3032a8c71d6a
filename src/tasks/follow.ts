import type { StoredEvent } from '../protocol/events.ts'
import type { TaskLog } from './log.ts'

/**
 * Everything beyond `after`: what is stored, then what comes, without gap or repeat. It is pulled, so a slow reader
 * slows only itself; it ends when the signal aborts. Who reads decides what was the last event.
 */
export async function* follow(
  log: Pick<TaskLog, 'read' | 'wait'>,
  taskId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<StoredEvent, void> {
  let seen = after
  while (!signal.aborted) {
    const stored = await log.read(taskId, seen)
    for (const event of stored) {
      yield event
      seen = event.generation
    }
    if (stored.length === 0) await log.wait(taskId, seen, signal)
  }
}
