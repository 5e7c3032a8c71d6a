import type { Json, JsonObject } from '../base/json.ts'
import type { Trace } from '../base/trace-context.ts'
import type { ErrorCode, StoredError } from './errors.ts'
import type { UsageSum } from './extensions/usage.ts'
import type { Artifact, Message, Principal, Task, TaskStatus } from './model.ts'

/** The event of an accepted message. It holds everything that a turn needs to answer it, on any replica. */
export interface MessageEvent {
  readonly type: 'message'
  readonly message: Message
  readonly principal: Principal
  readonly metadata?: JsonObject
  readonly acceptedOutputModes?: readonly string[]
  /** The dialect of the request. */
  readonly dialect?: string
  /** The URIs of the active extensions. */
  readonly extensions?: readonly string[]
  /** The trace of the request. Every process that works on the message continues it. */
  readonly trace?: Trace
  /** Whether the events that answer the message include their position in the trace. */
  readonly tellsTrace?: true
  /** The key under which the receiving process keeps the content of the message that must not be stored. */
  readonly ticket?: string
  /** Whether the content was removed before storing. The receiving process keeps it under `ticket`. */
  readonly sensitive?: true
}

/** The event of a changed task status. */
export interface StatusEvent {
  readonly type: 'status'
  readonly status: TaskStatus
  readonly metadata?: JsonObject
  /** Set if the runtime emitted the event, not the agent: a replayed turn does not emit it again. */
  readonly implied?: true
  /** Why the agent rejected the message before it touched the task. The waiting sender gets this error. */
  readonly error?: StoredError
  /** Set if the agent failed unexpectedly before it touched the task. */
  readonly isUntouched?: true
  /** The step of a durable turn that emitted the event. */
  readonly step?: string
  /** Set if the process that received the answer to a question stored the event together with it. */
  readonly withAnswer?: true
  /** Set if a turn completed its work while messages waited: those up to that generation are answered. */
  readonly answered?: number
  /**
   * Set if the task waits for a message that starts a new turn: the fence of the lease under which it was paused. Missing
   * in questions whose turn itself waits for the answer, and in tasks with a journal.
   */
  readonly pausedUnder?: number
}

/** The event of a new, replaced or extended artifact. */
export interface ArtifactEvent {
  readonly type: 'artifact'
  readonly artifact: Artifact
  /** Whether the parts are appended to the artifact with the same id. Otherwise, they replace it. */
  readonly append?: boolean
  readonly lastChunk?: boolean
  readonly metadata?: JsonObject
  /** The step of a durable turn that emitted the event. */
  readonly step?: string
}

/** The journal entry of a turn that waits for a message without occupying a process. */
export interface PausedEntry {
  readonly type: 'paused'
  /** The generation of the last answered message: the turn waits for a later one. */
  readonly answered: number
  /** When the turn stops waiting, in milliseconds since 1970. */
  readonly expiresAt?: number
  /** When the question was sent, in milliseconds since 1970. */
  readonly since?: number
  /** What the turn does at `expiresAt`. Defaults to failing. */
  readonly onTimeout?: 'continue'
}

/** The stored error of a failed step. */
export interface StepFailure {
  readonly message: string
  /** The code, if the error was an `A2AError`. */
  readonly code?: ErrorCode
}

/** The journal entry of a finished step. */
export interface StepEntry {
  readonly type: 'step'
  readonly step: string
  /** How many times the turn had called a step of this name. */
  readonly call: number
  readonly result?: Json
  readonly failure?: StepFailure
  /** What the models used that the step called. */
  readonly usage?: UsageSum
}

/** An entry of the journal of a durable turn. */
export type JournalEntry =
  /** An attempt to answer the message of that generation started. */
  | { readonly type: 'attempt'; readonly message: number; readonly attempt: number }
  /** The attempt stopped in an orderly way, so that another process can continue at once. */
  | { readonly type: 'handed-over' }
  /** The turn ended and the task is idle: messages up to that generation are answered. */
  | { readonly type: 'rested'; readonly answered: number }
  | PausedEntry
  /** The question with that number was not answered in time, and the turn continues without an answer. */
  | { readonly type: 'unanswered'; readonly question: number }
  | StepEntry

/** An event of the journal: what another process needs to continue the task. It is stored, but never sent to readers. */
export interface JournalEvent {
  readonly type: 'journal'
  readonly entry: JournalEntry
}

/** The agent answered with a message or an error instead of a task: the exchange ends here. */
export type ReplyEvent = { readonly type: 'reply' } & (
  | { readonly message: Message; readonly error?: undefined }
  | { readonly error: StoredError; readonly message?: undefined }
)

/** A finished piece of work of a turn, in the trace of its task. */
export interface TraceEntry {
  /** `limit`: the task has as many entries as it may have, and the work after that is not recorded. */
  readonly type: 'step' | 'model' | 'tool' | 'call' | 'limit'
  /** The name of the step, the model, the tool or the called agent. */
  readonly name: string
  /** When it began, in milliseconds since 1970. */
  readonly at: number
  /** In milliseconds. */
  readonly duration: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** Why the model stopped. */
  readonly finish?: string
  /** How many times the request failed before. */
  readonly retries?: number
  /** The task of the called agent. */
  readonly taskId?: string
  /** The id that the model gave the call of a tool. */
  readonly callId?: string
  /** The span of the tracing system, if there is one. */
  readonly spanId?: string
  /** Arguments and result as text, shortened. Missing if the server does not record content. */
  readonly input?: string
  readonly output?: string
  /** Set if it failed. The message is missing if the server does not record content. */
  readonly failure?: { readonly type: string; readonly message?: string }
}

/** How much of a trace a task has: entries, and characters of their JSON. */
export interface TraceSize {
  readonly entries: number
  readonly bytes: number
}

/** A part of the trace of a task: what its turns did before the event that it is stored with. Never sent to callers. */
export interface TraceChunk {
  readonly entries: readonly TraceEntry[]
  /** The size of the whole trace up to here. */
  readonly total: TraceSize
}

/** One change of a task, as stored. The task is the fold of its events. */
export type TaskEvent = (
  | MessageEvent
  /** A caller requested to cancel the task. */
  | { readonly type: 'cancel' }
  | ReplyEvent
  | StatusEvent
  | ArtifactEvent
  | JournalEvent
) & {
  /** The revision of the task after this event. Missing in events that were stored before tasks had one. */
  readonly revision?: number
  readonly traceChunk?: TraceChunk
}

/** An event in the log of a task. */
export interface StoredEvent {
  /** The number of the event within its task: 1, 2, 3…, without gaps. */
  readonly generation: number
  readonly event: TaskEvent
}

/** The task that a stream event belongs to, and the event's number in it. */
export interface TaskRef {
  readonly taskId: string
  readonly contextId: string
  readonly generation: number
  /** The revision of the task after this event. */
  readonly revision?: number
}

/** An event of a task's stream, as its reader receives it. */
export type StreamEvent = (
  | { readonly type: 'task'; readonly task: Task }
  | { readonly type: 'message'; readonly message: Message }
  | (StatusEvent & TaskRef)
  | (ArtifactEvent & TaskRef)
) & {
  /** Whether the stream ends after this event. */
  readonly isLast?: boolean
  /**
   * The generation of the preceding event of the stream. Set on the first event, and where events that are not streamed
   * lie between the two. So a reader can detect missing events.
   */
  readonly follows?: number | undefined
}
