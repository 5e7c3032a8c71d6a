import type { StoredEvent } from '../protocol/events.ts'
import type { TaskLog } from './log.ts'

/**
 * Everything beyond `after`: what is stored, then what comes, without gap or repeat. It is pulled, so a slow reader
 * slows only itself; it ends when the signal aborts, or the task is erased. Who reads decides what was the last event.
 */
export async function* follow(...args: Parameters<typeof followPages>): AsyncGenerator<StoredEvent, void> {
  for await (const page of followPages(...args)) yield* page
}

/** The same, with the events that are there together in one piece, for readers that are in a hurry. */
export async function* followPages(
  log: Pick<TaskLog, 'head' | 'read' | 'wait'>,
  taskId: string,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<readonly StoredEvent[], void> {
  let seen = after
  let isWoken = false
  while (!signal.aborted) {
    const page = await log.read(taskId, seen)
    const last = page.at(-1)
    if (last) {
      yield page
      seen = last.generation
    } else if (isWoken && !(await log.head(taskId))) return
    await log.wait(taskId, seen, signal)
    isWoken = true
  }
}
