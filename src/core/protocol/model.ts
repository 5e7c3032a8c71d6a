import { defined, type Json, type JsonObject } from '../base/json.ts'

// The last formatted and the last parsed timestamp: many events share a millisecond, and converting a timestamp costs as
// much as handling an event.
let formatted = { milliseconds: 0, text: '' }
let parsed = { milliseconds: 0, text: '' }

/** Separates tenant and id. Ids cannot contain it: control characters are rejected. */
const separator = '\u001f'

/** The authenticated caller of an operation. */
export interface Principal {
  readonly id: string
  /** The organization within which the id is unique. */
  readonly tenant?: string
  /** The scopes that the credentials grant. */
  readonly scopes?: readonly string[]
  /** Further claims of the credentials. */
  readonly claims?: JsonObject
  /** When the credentials expire, in milliseconds since 1970. Streams of this caller end then. */
  readonly expires?: number
  /** The security schemes by which the caller authenticated, each with the scopes that it granted. */
  readonly grants?: Readonly<Record<string, readonly string[]>>
  /** Whether an operator calls from the console. Its tasks belong to no caller, whatever the id. */
  readonly isOperator?: true
}

/** The principal of every caller of an agent that requires no credentials. */
export const anonymous: Principal = { id: 'anonymous' }

/** Returns the owner name of a principal: one string for one principal of one tenant, under which tasks are stored. */
export function ownerOf({ id, tenant, isOperator }: Principal): string {
  // No tenant is empty, so no caller has an owner name that begins with the separator.
  if (isOperator) return `${tenantPrefix('')}${tenantPrefix(tenant ?? '')}${id}`
  return tenant === undefined ? id : `${tenantPrefix(tenant)}${id}`
}

/** The inverse of `ownerOf`, without credentials. */
export function principalOf(owner: string): Pick<Principal, 'id' | 'tenant' | 'isOperator'> {
  if (owner.startsWith(separator)) {
    const [, tenant, id = ''] = owner.split(separator)
    return defined({ id, tenant: tenant || undefined, isOperator: true })
  }
  const at = owner.indexOf(separator)
  return at < 0 ? { id: owner } : { tenant: owner.slice(0, at), id: owner.slice(at + 1) }
}

export function isAnonymous({ id, tenant }: Principal): boolean {
  return id === anonymous.id && tenant === undefined
}

/** The prefix of the owner names of a tenant. */
export function tenantPrefix(tenant: string): string {
  return `${tenant}${separator}`
}

/** The sender of a message. */
export type Role = 'user' | 'agent'

/** A part with text. */
export interface TextPart extends PartBase {
  readonly text: string
}

/** A part that refers to a file by URL. */
export interface UrlPart extends PartBase {
  readonly url: string
}

/** A part with the content of a file. */
export interface RawPart extends PartBase {
  /** The bytes as standard base64 with padding. */
  readonly raw: string
}

/** A part with structured data. */
export interface DataPart extends PartBase {
  readonly data: Json
}

/** A piece of a message or an artifact. */
export type Part = TextPart | UrlPart | RawPart | DataPart

/** What a dialect has and the model does not. It is stored and returned, and only its own dialect reads it. */
export type Carry = JsonObject

/** A message between a caller and an agent. */
export interface Message {
  readonly messageId: string
  readonly role: Role
  readonly parts: readonly Part[]
  readonly contextId?: string
  readonly taskId?: string
  /** Other tasks that the message refers to. */
  readonly referenceTaskIds?: readonly string[]
  /** The URIs of the extensions that the message uses. */
  readonly extensions?: readonly string[]
  readonly metadata?: JsonObject
  readonly carry?: Carry
}

/**
 * Appends a chunk of an artifact to its parts. Text that follows text becomes one part with it: agents write text in
 * pieces that end within words and numbers, and readers separate parts.
 */
export function appendParts(parts: Part[], chunk: readonly Part[]): void {
  const [first, ...others] = chunk
  const last = parts.at(-1)
  if (!first) return
  const joined = last && joinText(last, first)
  if (joined) parts[parts.length - 1] = joined
  else parts.push(first)
  parts.push(...others)
}

function joinText(one: Part, other: Part): Part | undefined {
  if (!('text' in one) || !('text' in other) || one.mediaType !== other.mediaType) return undefined
  if (hasOwnMembers(one) || hasOwnMembers(other)) return undefined
  return { ...one, text: one.text + other.text }
}

function hasOwnMembers({ filename, metadata, carry }: Part): boolean {
  return filename !== undefined || metadata !== undefined || carry !== undefined
}

/** Whether a part is a text without characters. It is no content. */
export function isEmptyText(part: Part): boolean {
  return 'text' in part && part.text === ''
}

/** Returns the text of a message: its text parts, joined by line breaks. */
export function textOf({ parts }: Pick<Message, 'parts'>): string {
  const [only] = parts
  if (only && parts.length === 1) return 'text' in only ? only.text : ''
  return parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n')
}

/** Joins neighbouring text parts, such as the chunks of a streamed text. */
export function joinTexts(parts: readonly Part[]): readonly Part[] {
  const joined: Part[] = []
  for (const part of parts) appendParts(joined, [part])
  return joined
}

/** Formats a time, in milliseconds since 1970, as A2A timestamps are. Defaults to the current time. */
export function toTimestamp(milliseconds: number = Date.now()): string {
  if (milliseconds !== formatted.milliseconds) formatted = { milliseconds, text: new Date(milliseconds).toISOString() }
  return formatted.text
}

/** Parses a timestamp into milliseconds since 1970. */
export function parseTimestamp(text: string): number {
  if (text === formatted.text) return formatted.milliseconds
  if (text !== parsed.text) parsed = { milliseconds: Date.parse(text), text }
  return parsed.milliseconds
}

/** The text that replaces a secret. */
export const redactionMark = '[redacted]'

/** A result of a task. */
export interface Artifact {
  readonly artifactId: string
  readonly parts: readonly Part[]
  readonly name?: string
  readonly description?: string
  /** The URIs of the extensions that the artifact uses. */
  readonly extensions?: readonly string[]
  readonly metadata?: JsonObject
  readonly carry?: Carry
}

/** The state of a task. `unknown` ends a task whose agent has lost track of it. */
export type TaskState =
  | 'submitted'
  | 'working'
  | 'input-required'
  | 'auth-required'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected'
  | 'unknown'

/** The status of a task. */
export interface TaskStatus {
  readonly state: TaskState
  readonly message?: Message
  /** The time of the status: ISO 8601, UTC, with milliseconds. */
  /** Absent if another agent does not say when the status was set. */
  readonly timestamp?: string
  /** The metadata of the task at this time. It is stored with the status, and sent as a member of the task. */
  readonly taskMetadata?: JsonObject
  /** Whether the agent has begun with a `submitted` task. Some dialects have a state of its own for it: `started`. */
  readonly isStarted?: true
  /** Whether the message is the agent's answer and should be found among the artifacts of the task. */
  readonly isAnswer?: true
  readonly carry?: Carry
}

/** A task: the stateful work of an agent on one or more messages. */
export interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly artifacts: readonly Artifact[]
  /** The messages of the task, oldest first, without the message of the current status. */
  readonly history: readonly Message[]
  readonly metadata?: JsonObject
  readonly carry?: Carry
  /** The number of the last event that this task includes. */
  readonly generation: number
  /** The number of its changes that callers see. Unknown if another agent does not count them. */
  readonly revision?: number
}

interface PartBase {
  readonly filename?: string
  readonly mediaType?: string
  readonly metadata?: JsonObject
  readonly carry?: Carry
}
