import { isObject } from '../../base/json.ts'
import { invalidParams } from '../../protocol/errors.ts'
import { inputRequestIn, toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import type { Message, Part } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { loadFold } from '../../tasks/fold.ts'
import type { NewTask } from '../../tasks/log.ts'
import type { CallerLog } from '../caller-log.ts'

/** Throws unless every result in the message is of a request that waits for one. */
export async function requireOpenRequests(task: NewTask, name: string, { message }: SendRequest, log: CallerLog) {
  const messages = await messagesOf(task, log)
  const open = new Set(openRequests(messages))
  for (const [at, part] of message.parts.entries()) {
    if (!isResult(part)) continue
    const id = idIn(part)
    if (id !== undefined && open.delete(id)) continue
    throw invalidParams(`message.parts[${at}]`, `${expectation([...open], name)}, got ${describe(id, messages)}`)
  }
}

/** Of a message that goes to no task, where nobody can have asked. */
export function rejectResults({ message }: SendRequest): never {
  const at = message.parts.findIndex(isResult)
  throw invalidParams(
    `message.parts[${at}]`,
    'expected the result of a tool in a message to the task that asked for it: name that by taskId',
  )
}

/** Which of these tasks waits for a result that the message brings. */
export async function findWaitingTask(taskIds: readonly string[], { message }: SendRequest, log: CallerLog) {
  const brought = message.parts.filter(isResult).map(idIn)
  for (const taskId of taskIds) {
    const head = await log.find({ taskId })
    if (!head || head.phase === 'expired') continue
    const messages = await messagesOf(head, log)
    // What is sent once more goes where it went.
    const isKnown = messages.some(({ role, messageId }) => role === 'user' && messageId === message.messageId)
    if (isKnown || openRequests(messages).some((id) => brought.includes(id))) return taskId
  }
  return undefined
}

/**
 * The requests that have no answer, oldest first. Who asks anew says what is still wanted; a message without results
 * answers the oldest.
 */
export function openRequests(messages: readonly Message[]): readonly string[] {
  let open: readonly string[] = []
  for (const message of messages) {
    if (message.role === 'agent') {
      const asked = requestsIn(message)
      const expired = inputRequestIn(message)?.expired
      open = asked.length > 0 ? asked : open.filter((id) => id !== expired)
    } else if (hasResults(message)) {
      const answered = message.parts.filter(isResult).map(idIn)
      open = open.filter((id) => !answered.includes(id))
    } else open = open.slice(1)
  }
  return open
}

/** What an agent asks its caller for has an id, and gets one answer. */

export function hasResults({ parts }: Message): boolean {
  return parts.some(isResult)
}

function isResult(part: Part): boolean {
  return part.mediaType === toolResult && 'data' in part
}

async function messagesOf(task: NewTask, log: CallerLog): Promise<readonly Message[]> {
  const fold = await loadFold(log, task)
  const asking = fold.task()?.status.message
  return asking ? [...fold.messages(), asking] : fold.messages()
}

function idIn(part: Part): string | undefined {
  const id = 'data' in part && isObject(part.data) ? part.data.toolUseId : undefined
  return typeof id === 'string' ? id : undefined
}

function expectation(open: readonly string[], task: string): string {
  if (open.length === 0) return `task ${task} waits for no result of a tool`
  return `expected the result of a request that waits for one: toolUseId ${open.map(quoted).join(' or ')}`
}

function quoted(id: string): string {
  return JSON.stringify(id.length > 64 ? `${id.slice(0, 64)}…` : id)
}

function describe(id: string | undefined, messages: readonly Message[]): string {
  if (id === undefined) return 'one without a toolUseId'
  const isKnown = messages.some((message) => message.role === 'agent' && requestsIn(message).includes(id))
  const isLate = messages.some((message) => inputRequestIn(message)?.expired === id)
  return `one for ${quoted(id)}, which ${isLate ? 'has expired' : isKnown ? 'is answered already' : 'nobody asked for'}`
}

function requestsIn(message: Message): readonly string[] {
  const uses = message.parts.filter(({ mediaType }) => mediaType === toolUse).map(idIn)
  const ids = [inputRequestIn(message)?.requestId, ...uses]
  return [...new Set(ids.filter((id) => typeof id === 'string'))]
}
