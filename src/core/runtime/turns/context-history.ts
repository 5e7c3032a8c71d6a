import { joinTexts, type Message, type Task } from '../../protocol/model.ts'
import { loadFold } from '../../tasks/fold.ts'
import type { NewTask, TaskLog } from '../../tasks/log.ts'

/** How many earlier tasks of a context are read. */
const maxTasks = 20

/** The messages of the owner's other tasks in the context, oldest first. Artifacts count as messages of the agent. */
export async function contextHistory({ taskId, contextId, owner }: NewTask, log: TaskLog): Promise<readonly Message[]> {
  const { heads } = await log.list({ owner, contextId, limit: maxTasks + 1 })
  const others = heads.filter((head) => head.taskId !== taskId).slice(0, maxTasks)
  const messages: Message[] = []
  for (const head of others.sort((one, other) => one.created - other.created)) {
    const task = head.phase === 'expired' ? undefined : (await loadFold(log, head)).task()
    if (task) messages.push(...messagesOf(task))
  }
  return messages
}

function messagesOf({ id, contextId, history, artifacts, status }: Task): readonly Message[] {
  const results = artifacts.map(({ artifactId, parts }): Message => {
    return { messageId: artifactId, role: 'agent', parts: joinTexts(parts), taskId: id, contextId }
  })
  return [...history, ...results, ...(status.message ? [status.message] : [])]
}
