import { A2AError, taskExpired, taskNotFound } from '../../protocol/errors.ts'
import type { MessageEvent } from '../../protocol/events.ts'
import { ownerOf } from '../../protocol/principal.ts'
import type { Call, SendRequest } from '../../protocol/service.ts'
import type { Claim, ClaimRecord, NewTask } from '../../tasks/log.ts'
import { aliasKey, type CallerLog } from '../caller-log.ts'

/** Asking for many bytes costs as much as asking for few. */
const pool = new Uint8Array(4096)

/** The keys under which a new exchange is stored at most once. */
export async function claimsForNewTask(
  request: SendRequest,
  call: Call,
  byMessageId: boolean,
): Promise<readonly Claim[]> {
  const { contextId = '', messageId } = request.message
  const keys = keysOf(call)
  if (byMessageId) keys.push(`new ${contextId} ${messageId}`)
  return [...(await claim(request, keys)), ...claimsForAlias(request)]
}

/** The keys under which a message is stored at most once in its task. */
export function claimsForMessage(
  { taskId, owner }: NewTask,
  request: SendRequest,
  call: Call,
): Promise<readonly Claim[]> {
  const caller = ownerOf(call.principal)
  // They are claimed for the task's owner, whose own keys are none of the caller's, nor the other way round.
  const keys = caller === owner ? keysOf(call) : keysOf(call).map((key) => `of ${caller} ${key}`)
  return claim(request, [...keys, `in ${taskId} ${request.message.messageId}`])
}

/** A message that is stored: where its answer is to be read. */
export interface AcceptedMessage {
  readonly task: NewTask
  /** The generation of the message itself. */
  readonly generation: number
  /** It had been stored before, so its caller may have read a part of the answer already. */
  readonly isRepeated?: true
}

/** What these keys already stand for, if anything. */
export async function findEarlier(
  log: CallerLog,
  owner: string,
  claims: readonly Claim[],
  /** The same request in the other form in which it may have been stored. */
  others: () => readonly Claim[] | Promise<readonly Claim[]>,
): Promise<AcceptedMessage | undefined> {
  for (const { key, digest } of claims) {
    const claimed = await log.claimed(owner, key)
    if (!claimed) continue
    const known = claimed.digest === digest ? claims : await others()
    return await acceptedMessageOf(log, claimed, known.find((each) => each.key === key)?.digest ?? digest)
  }
  return undefined
}

/**
 * The message that began a task could claim nothing under the task's id, which it did not know. It is generation 1.
 */
export function isFirstMessage(opening: MessageEvent | undefined, task: NewTask, { message }: SendRequest): boolean {
  if (opening?.message.messageId !== message.messageId) return false
  const { taskId, contextId } = task
  if (JSON.stringify(opening.message) !== JSON.stringify({ ...message, taskId, contextId })) throw conflict()
  return true
}

/** The message that began a task. */
export async function readFirstMessage({ taskId }: NewTask, log: CallerLog): Promise<MessageEvent | undefined> {
  const [first] = await log.read(taskId, 0)
  return first?.event.type === 'message' ? first.event : undefined
}

/**
 * The id of a task or a context: 128 random bits that nobody guesses, after the time. Who has no credentials is let in
 * by them. Ids that grow with time lie side by side in a store's index, which made creating a task on SQLite a third
 * cheaper.
 */
export function newId(): string {
  return `${Date.now().toString(16).padStart(12, '0')}-${random128()}`
}

/** Whether it can be one of ours. */
export function isId(text: string): boolean {
  return /^[0-9a-f]{12}-[0-9a-f]{32}$/.test(text)
}

/** The name that its caller gives to a new task. */
export function claimsForAlias({ alias }: SendRequest): readonly Claim[] {
  return alias === undefined ? [] : [{ key: aliasKey(alias), digest: aliasDigest }]
}

/** The same message came before: its answer is the answer, unless the body differs. */
export async function acceptedMessageOf(
  log: CallerLog,
  claimed: ClaimRecord,
  digest: string,
): Promise<AcceptedMessage> {
  if (claimed.digest !== digest) throw conflict()
  const head = await log.find(claimed)
  if (!head) throw taskNotFound(claimed.taskId)
  if (head.phase === 'expired') throw taskExpired(claimed.taskId, head.changed)
  return { task: head, generation: claimed.generation, isRepeated: true }
}

/** A name for a task stands for that task, whatever is said in it. */
export const aliasDigest = 'alias'

function keysOf({ idempotencyKey }: Call): string[] {
  return idempotencyKey === undefined ? [] : [`key ${idempotencyKey}`]
}

/** Decoded requests are built in one order, so equal requests have equal texts. */
async function claim(
  { message, alias, configuration, metadata }: SendRequest,
  keys: readonly string[],
): Promise<Claim[]> {
  // Who names tasks does not name messages: their ids are ours, and new with every try.
  const said = alias === undefined ? message : { ...message, messageId: alias }
  const text = new TextEncoder().encode(JSON.stringify([said, configuration, metadata]))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  const digest = Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
  return keys.map((key) => ({ key, digest }))
}

function conflict(): A2AError {
  return new A2AError(
    'conflict',
    'This Idempotency-Key or messageId was used before with a different body: take a new one.',
  )
}

function random128(): string {
  if (at === pool.length) {
    crypto.getRandomValues(pool)
    at = 0
  }
  let text = ''
  for (const end = at + 16; at < end; at++) text += hex[pool[at] ?? 0]
  return text
}

let at = pool.length

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
