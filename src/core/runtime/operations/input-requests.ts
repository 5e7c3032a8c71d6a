import { isObject } from '../../base/json.ts'
import { invalidParams } from '../../protocol/errors.ts'
import { inputRequestIn, toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import { isProgress } from '../../protocol/extensions/progress.ts'
import type { Message, Part } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { loadFold } from '../../tasks/fold.ts'
import type { NewTask } from '../../tasks/log.ts'
import type { CallerLog } from '../caller-log.ts'

/** Whether a message has tool results, which answer input requests by their ids. */
export function hasResults({ parts }: Message): boolean {
  return parts.some(isResult)
}

/** Throws unless every tool result in the message answers an open request. Errors use `name` for the task. */
export async function requireOpenRequests(task: NewTask, name: string, { message }: SendRequest, log: CallerLog) {
  const messages = await messagesOf(task, log)
  const open = new Set(openRequests(messages))
  for (const [index, part] of message.parts.entries()) {
    if (!isResult(part)) continue
    const id = requestIdIn(part)
    if (id !== undefined && open.delete(id)) continue
    throw invalidParams(`message.parts[${index}]`, `${expectation([...open], name)}, got ${describe(id, messages)}`)
  }
}

/** Throws for a message with tool results that names no task. */
export function rejectResults({ message }: SendRequest): never {
  const index = message.parts.findIndex(isResult)
  throw invalidParams(
    `message.parts[${index}]`,
    'expected the result of a tool in a message to the task that asked for it: name that by taskId',
  )
}

/** Finds the task that waits for a tool result in the message. */
export async function findWaitingTask(taskIds: readonly string[], { message }: SendRequest, log: CallerLog) {
  const results = message.parts.filter(isResult).map(requestIdIn)
  for (const taskId of taskIds) {
    const head = await log.find({ taskId })
    if (!head || head.phase === 'expired') continue
    const messages = await messagesOf(head, log)
    // A repeated message goes to the same task as before.
    const isRepeated = messages.some(({ role, messageId }) => role === 'user' && messageId === message.messageId)
    if (isRepeated || openRequests(messages).some((id) => results.includes(id))) return taskId
  }
  return undefined
}

/**
 * The ids of the unanswered requests, oldest first. A new question replaces all open requests. A message without results
 * answers the oldest one.
 */
export function openRequests(messages: readonly Message[]): readonly string[] {
  let open: readonly string[] = []
  for (const message of messages) {
    if (message.role === 'agent') {
      const requests = requestsIn(message)
      const expired = inputRequestIn(message)?.expired
      open = requests.length > 0 ? requests : open.filter((id) => id !== expired)
    } else if (hasResults(message)) {
      const answered = message.parts.filter(isResult).map(requestIdIn)
      open = open.filter((id) => !answered.includes(id))
    } else open = open.slice(1)
  }
  return open
}

function isResult(part: Part): boolean {
  return part.mediaType === toolResult && 'data' in part
}

async function messagesOf(task: NewTask, log: CallerLog): Promise<readonly Message[]> {
  const fold = await loadFold(log, task)
  const statusMessage = fold.task()?.status.message
  return statusMessage ? [...fold.messages(), statusMessage] : fold.messages()
}

function requestIdIn(part: Part): string | undefined {
  const id = 'data' in part && isObject(part.data) ? part.data.toolUseId : undefined
  return typeof id === 'string' ? id : undefined
}

function requestsIn(message: Message): readonly string[] {
  if (isProgress(message)) return []
  const uses = message.parts.filter(({ mediaType }) => mediaType === toolUse).map(requestIdIn)
  const ids = [inputRequestIn(message)?.requestId, ...uses]
  return [...new Set(ids.filter((id) => typeof id === 'string'))]
}

function expectation(open: readonly string[], task: string): string {
  if (open.length === 0) return `task ${task} waits for no result of a tool`
  return `expected the result of a request that waits for one: toolUseId ${open.map(quote).join(' or ')}`
}

function describe(id: string | undefined, messages: readonly Message[]): string {
  if (id === undefined) return 'one without a toolUseId'
  const isAnswered = messages.some((message) => message.role === 'agent' && requestsIn(message).includes(id))
  const isExpired = messages.some((message) => inputRequestIn(message)?.expired === id)
  return `one for ${quote(id)}, which ${isExpired ? 'has expired' : isAnswered ? 'is answered already' : 'was not asked for'}`
}

function quote(id: string): string {
  return JSON.stringify(id.length > 64 ? `${id.slice(0, 64)}…` : id)
}
