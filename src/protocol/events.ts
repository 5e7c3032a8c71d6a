import type { Artifact, JsonObject, Message, Principal, Task, TaskStatus } from './model.ts'

/** One change of a task, as it is stored. The task is the fold of its events. */
export type TaskEvent =
  | MessageEvent
  /** Somebody asked for this task to be canceled. */
  | { readonly type: 'cancel' }
  /** The agent answered with a message and made no task of it: the exchange ends here. */
  | { readonly type: 'reply'; readonly message: Message }
  | StatusEvent
  | ArtifactEvent

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
}

export interface StatusEvent {
  readonly type: 'status'
  readonly status: TaskStatus
  readonly metadata?: JsonObject
}

export interface ArtifactEvent {
  readonly type: 'artifact'
  readonly artifact: Artifact
  /** Adds the parts to the artifact of that id; otherwise the artifact is replaced. */
  readonly append?: boolean
  readonly lastChunk?: boolean
  readonly metadata?: JsonObject
}

export interface StoredEvent {
  /** 1, 2, 3… within its task, without a hole. */
  readonly generation: number
  readonly event: TaskEvent
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
}

export interface TaskRef {
  readonly taskId: string
  readonly contextId: string
  readonly generation: number
}
