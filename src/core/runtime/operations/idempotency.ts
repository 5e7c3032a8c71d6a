import { A2AError, taskExpired, taskNotFound } from '../../protocol/errors.ts'
import type { MessageEvent } from '../../protocol/events.ts'
import { ownerOf } from '../../protocol/model.ts'
import type { Call, SendRequest } from '../../protocol/service.ts'
import type { Claim, ClaimRecord, NewTask } from '../../tasks/log.ts'
import { aliasKey, type CallerLog } from '../caller-log.ts'
import type { RuntimeSettings } from '../options.ts'

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

type ReusedMessageId = RuntimeSettings['reusedMessageId']

/** The claims under which a message that creates a task is stored at most once. */
export async function claimsForNewTask(
  request: SendRequest,
  call: Call,
  { dedupeNewTasks, reusedMessageId }: Pick<RuntimeSettings, 'dedupeNewTasks' | 'reusedMessageId'>,
): Promise<readonly Claim[]> {
  const { contextId = '', messageId } = request.message
  const claims = [...(await claimsForKey(request, keyOf(call)))]
  if (dedupeNewTasks) {
    const claim = { key: `new ${contextId} ${messageId}`, digest: await digestOf(contentOf(request)) }
    claims.push(reusedMessageId === 'reject' ? claim : withDigest(claim))
  }
  const alias = request.quirks?.alias
  return alias === undefined ? claims : [...claims, ...claimsForAlias(alias)]
}

/** The claims under which a message is stored at most once in its task. */
export interface MessageClaims {
  /** The claim on the idempotency key, if the call has one. */
  readonly byKey: readonly Claim[]
  readonly byMessageId: Claim
}

export async function claimsForMessage(
  { taskId, owner }: NewTask,
  request: SendRequest,
  call: Call,
): Promise<MessageClaims> {
  const caller = ownerOf(call.principal)
  const key = keyOf(call)
  // Claims belong to the owner of the task. The keys of another caller must not collide with the owner's.
  const ownKey = key === undefined || caller === owner ? key : `of ${caller} ${key}`
  return {
    byKey: await claimsForKey(request, ownKey),
    byMessageId: { key: `in ${taskId} ${request.message.messageId}`, digest: await digestOf(contentOf(request)) },
  }
}

/** The claim on the id that the caller chose for a new task. */
export function claimsForAlias(alias: string): readonly Claim[] {
  return [{ key: aliasKey(alias), digest: aliasDigest }]
}

/** Where a message may have been stored before. */
export interface EarlierMessages {
  readonly log: CallerLog
  readonly owner: string
  readonly reusedMessageId: ReusedMessageId
  /** The claims of the same request in redacted form, in which it may have been stored. */
  readonly redactedClaims: () => MessageClaims | Promise<MessageClaims>
}

/** Finds the message that a request repeats. If there is none, returns the claims under which to store the request. */
export async function findEarlier(
  claims: MessageClaims,
  { log, owner, reusedMessageId, redactedClaims }: EarlierMessages,
): Promise<AcceptedMessage | readonly Claim[]> {
  const { byKey, byMessageId } = claims
  for (const [index, { key, digest }] of byKey.entries()) {
    const record = await log.claimed(owner, key)
    if (!record) continue
    const digests = record.digest === digest ? [digest] : [(await redactedClaims()).byKey[index]?.digest ?? digest]
    return await acceptedMessageOf(log, record, digests)
  }
  const record = await log.claimed(owner, byMessageId.key)
  if (!record) return [...byKey, byMessageId]
  const redacted = record.digest === byMessageId.digest ? byMessageId : (await redactedClaims()).byMessageId
  if (record.digest === redacted.digest || reusedMessageId === 'reject') {
    return await acceptedMessageOf(log, record, [redacted.digest])
  }
  // The id was used before for other content: the message is stored under its id and content.
  for (const claim of [withDigest(byMessageId), withDigest(redacted)]) {
    const repeated = await log.claimed(owner, claim.key)
    if (repeated) return await acceptedMessageOf(log, repeated, [claim.digest])
  }
  return [...byKey, withDigest(byMessageId)]
}

/** The stored message of a claim. Throws `conflict` if its digest is none of these. */
export async function acceptedMessageOf(
  log: CallerLog,
  record: ClaimRecord,
  digests: readonly string[],
): Promise<AcceptedMessage> {
  if (!digests.includes(record.digest)) throw conflict()
  const head = await log.find(record)
  if (!head) throw taskNotFound(record.taskId)
  if (head.phase === 'expired') throw taskExpired(record.taskId, head.changed)
  return { task: head, generation: record.generation, isRepeated: true }
}

/**
 * Whether the request repeats the message that created its task. That message has no claim on the task id, which did not
 * exist before.
 */
export function isFirstMessage(
  first: MessageEvent | undefined,
  request: SendRequest,
  reusedMessageId: ReusedMessageId,
): boolean {
  if (first?.message.messageId !== request.message.messageId) return false
  if (JSON.stringify(contentOf(first)) === JSON.stringify(contentOf(request))) return true
  if (reusedMessageId === 'reject') throw conflict()
  return false
}

/** The message that created a task. */
export async function readFirstMessage({ taskId }: NewTask, log: CallerLog): Promise<MessageEvent | undefined> {
  const [first] = await log.read(taskId, 0)
  return first?.event.type === 'message' ? first.event : undefined
}

function keyOf({ idempotencyKey }: Call): string | undefined {
  return idempotencyKey === undefined ? undefined : `key ${idempotencyKey}`
}

/** An idempotency key stands for the whole request. */
async function claimsForKey(
  { message, quirks: { alias } = {}, configuration, metadata }: SendRequest,
  key: string | undefined,
): Promise<readonly Claim[]> {
  if (key === undefined) return []
  // In dialects with aliases, the server creates the message ids, so every retry has another one.
  const comparable = alias === undefined ? message : { ...message, messageId: alias }
  return [{ key, digest: await digestOf([comparable, configuration, metadata]) }]
}

/** What makes two messages with the same id the same message. The ids of the task and the context may be left out. */
function contentOf({ message }: Pick<SendRequest, 'message'>): object {
  const { taskId: _, contextId: __, ...content } = message
  return content
}

/** Equal values have equal JSON texts, because decoders build their members in one order. */
async function digestOf(value: object): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify(value))
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function withDigest({ key, digest }: Claim): Claim {
  return { key: `${key} ${digest}`, digest }
}

function conflict(): A2AError {
  return new A2AError(
    'conflict',
    'This Idempotency-Key or messageId was used before with a different body: take a new one.',
  )
}
