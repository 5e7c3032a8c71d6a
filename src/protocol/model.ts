/** The objects of A2A as plain values: what every room but `dialects/` and `transports/` speaks. All of it is JSON. */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** What a dialect has and the model has not. Stored and handed back, read only by the dialect that wrote it. */
export type Carry = JsonObject

export type Role = 'user' | 'agent'

interface PartBase {
  readonly filename?: string
  readonly mediaType?: string
  readonly metadata?: JsonObject
  readonly carry?: Carry
}
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
