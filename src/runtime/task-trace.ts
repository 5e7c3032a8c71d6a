import type { Trace } from '../protocol/trace.ts'
import type { FoldedLog } from '../tasks/load.ts'

/** The trace in which a task began. What webhooks are told of it belongs there, whoever has it told, and whenever. */
export async function traceOfTask(taskId: string, log: Pick<FoldedLog, 'read'>): Promise<Trace | undefined> {
  const [first] = await log.read(taskId, 0)
  return first?.event.type === 'message' ? first.event.trace : undefined
}
