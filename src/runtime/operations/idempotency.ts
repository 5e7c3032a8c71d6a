import { A2AError, taskExpired, taskNotFound } from '../../protocol/errors.ts'
import type { MessageEvent } from '../../protocol/events.ts'
import { ownerOf } from '../../protocol/model.ts'
import type { Call, SendRequest } from '../../protocol/service.ts'
import type { Claim, ClaimRecord, NewTask } from '../../tasks/log.ts'
import { aliasKey, type CallerLog } from '../caller-log.ts'

/** The digest of an alias claim: an alias names its task, whatever the message says. */
export const aliasDigest = 'alias'

/** A stored message, and where its answer starts. */
export interface AcceptedMessage {
  readonly task: NewTask
  /** The generation of the message. */
  readonly generation: number
  /** The message was stored before, so its caller may have read a part of the answer. */
  readonly isRepeated?: true
}

/** The keys under which a message that creates a task is stored at most once. */
export async function claimsForNewTask(
  request: SendRequest,
  call: Call,
  byMessageId: boolean,
): Promise<readonly Claim[]> {
  const { contextId = '', messageId } = request.message
  const keys = keysOf(call)
  if (byMessageId) keys.push(`new ${contextId} ${messageId}`)
  const claims = await createClaims(request, keys)
  return request.alias === undefined ? claims : [...claims, ...claimsForAlias(request.alias)]
}

/** The keys under which a message is stored at most once in its task. */
export function claimsForMessage(
  { taskId, owner }: NewTask,
  request: SendRequest,
  call: Call,
): Promise<readonly Claim[]> {
  const caller = ownerOf(call.principal)
  // Claims belong to the owner of the task. The keys of another caller must not collide with the owner's.
  const keys = caller === owner ? keysOf(call) : keysOf(call).map((key) => `of ${caller} ${key}`)
  return createClaims(request, [...keys, `in ${taskId} ${request.message.messageId}`])
}

/** The claim on the id that the caller chose for a new task. */
export function claimsForAlias(alias: string): readonly Claim[] {
  return [{ key: aliasKey(alias), digest: aliasDigest }]
}

/** Finds the message that was stored under one of these keys. Throws `conflict` if it differs. */
export async function findEarlier(
  log: CallerLog,
  owner: string,
  claims: readonly Claim[],
  /** The claims of the same request in redacted form, in which it may have been stored. */
  redactedClaims: () => readonly Claim[] | Promise<readonly Claim[]>,
): Promise<AcceptedMessage | undefined> {
  for (const { key, digest } of claims) {
    const record = await log.claimed(owner, key)
    if (!record) continue
    const candidates = record.digest === digest ? claims : await redactedClaims()
    return await acceptedMessageOf(log, record, candidates.find((claim) => claim.key === key)?.digest ?? digest)
  }
  return undefined
}

/** The stored message of a claim. Throws `conflict` if the digests differ. */
export async function acceptedMessageOf(log: CallerLog, record: ClaimRecord, digest: string): Promise<AcceptedMessage> {
  if (record.digest !== digest) throw conflict()
  const head = await log.find(record)
  if (!head) throw taskNotFound(record.taskId)
  if (head.phase === 'expired') throw taskExpired(record.taskId, head.changed)
  return { task: head, generation: record.generation, isRepeated: true }
}

/**
 * Whether the request repeats the message that created its task. That message has no claim on the task id, which did not
 * exist before.
 */
export function isFirstMessage(first: MessageEvent | undefined, task: NewTask, { message }: SendRequest): boolean {
  if (first?.message.messageId !== message.messageId) return false
  const { taskId, contextId } = task
  if (JSON.stringify(first.message) !== JSON.stringify({ ...message, taskId, contextId })) throw conflict()
  return true
}

/** The message that created a task. */
export async function readFirstMessage({ taskId }: NewTask, log: CallerLog): Promise<MessageEvent | undefined> {
  const [first] = await log.read(taskId, 0)
  return first?.event.type === 'message' ? first.event : undefined
}

function keysOf({ idempotencyKey }: Call): string[] {
  return idempotencyKey === undefined ? [] : [`key ${idempotencyKey}`]
}

/** Equal requests have equal JSON texts, because decoders build their members in one order. */
async function createClaims(
  { message, alias, configuration, metadata }: SendRequest,
  keys: readonly string[],
): Promise<Claim[]> {
  // In dialects with aliases, the server creates the message ids, so every retry has another one.
  const comparable = alias === undefined ? message : { ...message, messageId: alias }
  const text = new TextEncoder().encode(JSON.stringify([comparable, configuration, metadata]))
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
