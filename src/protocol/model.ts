import type { Json, JsonObject } from '../base/json.ts'

/** Times as A2A writes them. Many events are of one millisecond, and writing or reading a time costs as much as an event. */

let written = { milliseconds: 0, text: '' }

let read = { milliseconds: 0, text: '' }

/** Who is calling. */
export interface Principal {
  readonly id: string
  /** The organisation within which the id is unique. */
  readonly tenant?: string
  /** What its credentials allow. */
  readonly scopes?: readonly string[]
  /** What else its credentials say. */
  readonly claims?: JsonObject
  /** When its credentials expire, in milliseconds since 1970. What it reads then ends. */
  readonly expires?: number
  /** The schemes by which it proved who it is, and the scopes that each of them granted. */
  readonly grants?: Readonly<Record<string, readonly string[]>>
}

/** Nobody in particular: the caller of an agent that asks for no credentials. */
export const anonymous: Principal = { id: 'anonymous' }

export type Role = 'user' | 'agent'

export interface TextPart extends PartBase {
  readonly text: string
}

export interface UrlPart extends PartBase {
  readonly url: string
}

export interface RawPart extends PartBase {
  /** Bytes as standard base64 with padding. */
  readonly raw: string
}

export interface DataPart extends PartBase {
  readonly data: Json
}

export type Part = TextPart | UrlPart | RawPart | DataPart

/** What a dialect has and the model has not. Stored and handed back, read only by the dialect that wrote it. */
export type Carry = JsonObject

export interface Message {
  readonly messageId: string
  readonly role: Role
  readonly parts: readonly Part[]
  readonly contextId?: string
  readonly taskId?: string
  readonly referenceTaskIds?: readonly string[]
  readonly extensions?: readonly string[]
  readonly metadata?: JsonObject
  readonly carry?: Carry
}

/** The text of a message: its text parts, one below the other. */
export function textOf({ parts }: Pick<Message, 'parts'>): string {
  const [only] = parts
  if (only && parts.length === 1) return 'text' in only ? only.text : ''
  return parts.flatMap((part) => ('text' in part ? [part.text] : [])).join('\n')
}

/** Of now, or of the moment that a clock of another kind calls so. */
export function toTimestamp(milliseconds: number = Date.now()): string {
  if (milliseconds !== written.milliseconds) written = { milliseconds, text: new Date(milliseconds).toISOString() }
  return written.text
}

/** Milliseconds since 1970. */
export function parseTimestamp(text: string): number {
  if (text === written.text) return written.milliseconds
  if (text !== read.text) read = { milliseconds: Date.parse(text), text }
  return read.milliseconds
}

/** Stands where a secret was. */
export const redactionMark = '[redacted]'

export interface Artifact {
  readonly artifactId: string
  readonly parts: readonly Part[]
  readonly name?: string
  readonly description?: string
  readonly extensions?: readonly string[]
  readonly metadata?: JsonObject
  readonly carry?: Carry
}

export type TaskState =
  | 'submitted'
  | 'working'
  | 'input-required'
  | 'auth-required'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'rejected'

export interface TaskStatus {
  readonly state: TaskState
  readonly message?: Message
  /** ISO 8601, UTC, milliseconds. */
  readonly timestamp: string
  readonly carry?: Carry
}

export interface Task {
  readonly id: string
  readonly contextId: string
  readonly status: TaskStatus
  readonly artifacts: readonly Artifact[]
  /** Oldest first. The message of the current status is not in it. */
  readonly history: readonly Message[]
  readonly metadata?: JsonObject
  readonly carry?: Carry
  /** The number of the last event that is in this task. */
  readonly generation: number
}

interface PartBase {
  readonly filename?: string
  readonly mediaType?: string
  readonly metadata?: JsonObject
  readonly carry?: Carry
}
