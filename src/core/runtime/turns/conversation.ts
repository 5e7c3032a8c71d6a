import { isProgress } from '../../protocol/extensions/progress.ts'
import { joinTexts, type Message, type Task } from '../../protocol/model.ts'
import { loadFold } from '../../tasks/fold.ts'
import type { NewTask, TaskLog } from '../../tasks/log.ts'

/** How many earlier tasks of a context are read. */
const maxTasks = 20

/** The newest messages of a conversation, up to this many characters of JSON. */
const maxCharacters = 256 * 1024

/** The messages of the owner's other tasks in the context, oldest first. Artifacts count as messages of the agent. */
export async function contextHistory({ taskId, contextId, owner }: NewTask, log: TaskLog): Promise<readonly Message[]> {
  const { heads } = await log.list({ owner, contextId, limit: maxTasks + 1 })
  const others = heads.filter((head) => head.taskId !== taskId).slice(0, maxTasks)
  const messages: Message[] = []
  // The list has the newest first, also of those that were created in the same millisecond.
  for (const head of others.reverse().sort((one, other) => one.created - other.created)) {
    const task = head.phase === 'expired' ? undefined : (await loadFold(log, head)).task()
    if (task) messages.push(...messagesOf(task))
  }
  return newest(messages)
}

/** What was said in the context before a message: in other tasks, and in its own one. */
export async function readConversation(
  task: NewTask,
  log: TaskLog,
  before: Task | undefined,
  messageId: string,
): Promise<readonly Message[]> {
  const own = before ? messagesOf(before).filter((message) => message.messageId !== messageId) : []
  return newest([...(await contextHistory(task, log)), ...own].filter((message) => !isProgress(message)))
}

function messagesOf({ id, contextId, history, artifacts, status }: Task): readonly Message[] {
  const results = artifacts.map(({ artifactId, parts }): Message => {
    return { messageId: artifactId, role: 'agent', parts: joinTexts(parts), taskId: id, contextId }
  })
  return [...history, ...results, ...(status.message ? [status.message] : [])]
}

function newest(messages: readonly Message[]): readonly Message[] {
  let characters = 0
  const tooOld = messages.findLastIndex((message) => {
    characters += JSON.stringify(message).length
    return characters > maxCharacters
  })
  return messages.slice(tooOld + 1)
}
