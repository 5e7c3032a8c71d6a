import type { Json, JsonObject } from '../base/json.ts'
import type { Trace } from '../base/trace-context.ts'
import type { ErrorCode } from './errors.ts'
import type { Artifact, Message, Principal, Task, TaskStatus } from './model.ts'

/** A caller's message was accepted. Everything that a turn needs to answer it is in here, on any replica. */
export interface MessageEvent {
  readonly type: 'message'
  readonly message: Message
  readonly principal: Principal
  readonly metadata?: JsonObject
  readonly acceptedOutputModes?: readonly string[]
  /** In which dialect it came. */
  readonly dialect?: string
  /** The extensions at work, by their URIs. */
  readonly extensions?: readonly string[]
  /** The trace that it is in: whoever goes on with it, wherever, does so in the same. */
  readonly trace?: Trace
  /** Events that answer it say where they are in the trace. */
  readonly tellsTrace?: true
  /** By which the process that took the message finds what of it must not be stored. */
  readonly ticket?: string
  /** What it says was taken out of it, and is with the process that took the message, under the ticket. */
  readonly sensitive?: true
}

export interface StatusEvent {
  readonly type: 'status'
  readonly status: TaskStatus
  readonly metadata?: JsonObject
  /** The runtime told it, and not the agent: a turn that is replayed does not say it again. */
  readonly implied?: true
  /** Within which step of a durable turn it was told. */
  readonly step?: string
}

export interface ArtifactEvent {
  readonly type: 'artifact'
  readonly artifact: Artifact
  /** Adds the parts to the artifact of that id; otherwise the artifact is replaced. */
  readonly append?: boolean
  readonly lastChunk?: boolean
  readonly metadata?: JsonObject
  /** Within which step of a durable turn it was told. */
  readonly step?: string
}

export interface PausedEntry {
  readonly type: 'paused'
  readonly answered: number
  readonly expiresAt?: number
  /** When the question was asked: milliseconds since 1970. */
  readonly since?: number
  /** What becomes of the turn at `expiresAt`; it fails unless said. */
  readonly onTimeout?: 'continue'
}

export interface StepFailure {
  readonly message: string
  /** Of an error that was written for callers. */
  readonly code?: ErrorCode
}

export interface StepEntry {
  readonly type: 'step'
  readonly step: string
  readonly call: number
  readonly result?: Json
  readonly failure?: StepFailure
}

export type JournalEntry =
  /** An attempt begins to answer the message of that generation. */
  | { readonly type: 'attempt'; readonly message: number; readonly attempt: number }
  /** The attempt was given up in good order, so that another process goes on at once. */
  | { readonly type: 'handed-over' }
  /** The turn is over, and the task rests: messages up to that generation are answered. */
  | { readonly type: 'rested'; readonly answered: number }
  /**
   * The turn waits for a message beyond that generation, and no process for it; at `expiresAt` (milliseconds since
   * 1970) it waits no longer.
   */
  | PausedEntry
  /** The question of that place in the turn was not answered in time, and the turn goes on without an answer. */
  | { readonly type: 'unanswered'; readonly question: number }
  /** The step of that name, called for so many times, is done. */
  | StepEntry

/** What must be remembered to go on with a task in another process. It is in the log only: no reader is told it. */
export interface JournalEvent {
  readonly type: 'journal'
  readonly entry: JournalEntry
}

/** One change of a task, as it is stored. The task is the fold of its events. */
export type TaskEvent =
  | MessageEvent
  /** Somebody asked for this task to be canceled. */
  | { readonly type: 'cancel' }
  /** The agent answered with a message and made no task of it: the exchange ends here. */
  | { readonly type: 'reply'; readonly message: Message }
  | StatusEvent
  | ArtifactEvent
  | JournalEvent

export interface StoredEvent {
  /** 1, 2, 3… within its task, without a hole. */
  readonly generation: number
  readonly event: TaskEvent
}

export interface TaskRef {
  readonly taskId: string
  readonly contextId: string
  readonly generation: number
}

/** What a reader of a task's stream gets. */
export type StreamEvent = (
  | { readonly type: 'task'; readonly task: Task }
  | { readonly type: 'message'; readonly message: Message }
  | (StatusEvent & TaskRef)
  | (ArtifactEvent & TaskRef)
) & {
  /** Nothing follows it in this stream. */
  readonly isLast?: boolean
  /**
   * The generation before it that is told in a stream: of the first event, and where others lie between that are not to
   * be told. So a reader knows whether something is missing.
   */
  readonly follows?: number | undefined
}
