import type { Message, Part, Task } from '../../protocol/model.ts'
import { loadFold } from '../../tasks/fold.ts'
import type { NewTask, TaskLog } from '../../tasks/log.ts'

/** So many earlier tasks of a context are read. */
const limit = 20

/** What was said in the other tasks of a context of the same owner, oldest first; artifacts are what the agent said. */
export async function contextHistory({ taskId, contextId, owner }: NewTask, log: TaskLog): Promise<readonly Message[]> {
  const { heads } = await log.list({ owner, contextId, limit: limit + 1 })
  const others = heads.filter((head) => head.taskId !== taskId).slice(0, limit)
  const said: Message[] = []
  for (const head of others.sort((one, other) => one.created - other.created)) {
    const task = head.phase === 'expired' ? undefined : (await loadFold(log, head)).task()
    if (task) said.push(...messagesOf(task))
  }
  return said
}

function messagesOf({ id, contextId, history, artifacts, status }: Task): readonly Message[] {
  const given = artifacts.map(({ artifactId, parts }): Message => {
    return { messageId: artifactId, role: 'agent', parts: joined(parts), taskId: id, contextId }
  })
  return [...history, ...given, ...(status.message ? [status.message] : [])]
}

/** What was streamed as chunks is one text. */
function joined(parts: readonly Part[]): readonly Part[] {
  const whole: Part[] = []
  for (const part of parts) {
    const last = whole.at(-1)
    if ('text' in part && last && 'text' in last) whole[whole.length - 1] = { ...last, text: last.text + part.text }
    else whole.push(part)
  }
  return whole
}
