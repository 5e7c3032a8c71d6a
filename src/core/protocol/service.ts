import { defined, type JsonObject } from '../base/json.ts'
import type { Trace } from '../base/trace-context.ts'
import type { AgentCard } from './card.ts'
import type { StreamEvent } from './events.ts'
import type { Carry, Message, Principal, Task, TaskState } from './model.ts'

/** The context of a call, whatever the operation. */
export interface Call {
  readonly principal: Principal
  /** Aborts when the caller disconnects. Reading stops then; the task continues. */
  readonly signal: AbortSignal
  /** Two sends of one caller with the same key count as one. */
  readonly idempotencyKey?: string
  /** The origin that the caller used, for cards, which contain it. */
  readonly origin?: string
  /** The URIs of the extensions that the caller requests. */
  readonly extensions?: readonly string[]
  /** Collects the URIs of the extensions that are active in this call, for the response. */
  readonly activated?: Set<string>
  /** When the caller stops waiting, in milliseconds since 1970, for transports that send a deadline. */
  readonly deadline?: number
  /** The trace of the caller. */
  readonly trace?: Trace | undefined
  /** The number of agents behind the call, by the header `A2A-Hops`: agents that drop metadata may still pass on headers. */
  readonly hops?: number | undefined
  /** Whether the request came through a proxy, by its headers: then its caller may be on another machine. */
  readonly isForwarded?: boolean | undefined
  /** Further headers of the request, such as `traceparent`, for transports that have headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Reads a header of the request that the caller sent, for transports that have headers. */
  header?(name: string): string | undefined
}

/** A call with changes. Calls may be objects of a class, whose members a spread would lose. */
export function withCall(call: Call, changes: Partial<Call>): Call {
  const { principal, signal, idempotencyKey, origin, extensions, activated, deadline, trace, hops } = call
  const { isForwarded, headers } = call
  const header = call.header && ((name: string) => call.header?.(name))
  const identity = { principal, signal, idempotencyKey, origin, extensions, activated, deadline, trace, hops }
  return defined({ ...identity, isForwarded, headers, header, ...changes })
}

/** The task that a call addresses. */
export interface TaskAddress {
  readonly taskId: string
  /** Whether `taskId` is the caller's own id, as in `SendQuirks.alias`. If no such alias exists, it is the task's id. */
  readonly isAlias?: boolean
  readonly tenant?: string
  readonly metadata?: JsonObject
  readonly carry?: Carry
}

/** A webhook of a task. */
export interface PushConfig extends Partial<Omit<TaskAddress, 'metadata'>> {
  readonly id?: string
  readonly url: string
  /** A token that the server sends with every notification, for the receiver to check. */
  readonly token?: string
  /** How the server authenticates to the webhook. */
  readonly authentication?: { readonly scheme: string; readonly credentials?: string }
  /** The dialect of the registration, in which notifications are sent. */
  readonly dialect?: string
}

/** How a message is processed and answered. */
export interface SendConfiguration {
  /** Media types that the caller accepts. */
  readonly acceptedOutputModes?: readonly string[]
  /** How many messages of the history the response includes at most. */
  readonly historyLength?: number
  /** Respond as soon as the task exists, instead of when it ends or waits for the caller. */
  readonly returnImmediately?: boolean
  /** A webhook to register for the task. */
  readonly push?: PushConfig
  /** Respond after this many milliseconds with the task in its current state. */
  readonly blockFor?: number
  /** Reject the message if its task has another revision. Has no meaning for a message that creates a task. */
  readonly ifRevision?: number
}

/** A request to send a message. */
export interface SendRequest {
  readonly message: Message
  readonly configuration?: SendConfiguration
  readonly metadata?: JsonObject
  readonly tenant?: string
  /** The dialect of the request. A later call about the task whose dialect is ambiguous is read in the same one. */
  readonly dialect?: string
  readonly carry?: Carry
  /** What the dialect of the request changes. */
  readonly quirks?: SendQuirks
  /** For streams: continue after this generation instead of starting with the first event. */
  readonly after?: number
  /** Include the position in the trace in the events of the task. */
  readonly traceMetadata?: boolean
  /** For streams: cancel the task if the caller disconnects before the stream ends. */
  readonly cancelOnDisconnect?: boolean
}

/** What single dialects change about streams. */
export interface StreamQuirks {
  /** End also when the task waits for credentials. */
  readonly endOnAuth?: boolean
  /** Stay open while the task waits for input. */
  readonly holdOnInput?: boolean
  /** Repeat the whole artifact in its last chunk. For readers that keep only this one. */
  readonly repeatsClosed?: boolean
  /** Send the end of an artifact as an event of its own, never together with its last chunk. */
  readonly closesSeparately?: boolean
}

/** What single dialects change about sends. */
export interface SendQuirks extends StreamQuirks {
  /**
   * The caller's own id for the task. If the caller has no task with this id yet, the message creates one.
   * `message.taskId` is not set then.
   */
  readonly alias?: string
  /** Create a task even if the agent answers without touching it. */
  readonly alwaysTask?: boolean
  /** Answer with an error if the agent rejects the message or fails before it touches the task, instead of with the failed task. */
  readonly failuresAsErrors?: boolean
  /** For tool results: the tasks one of which waits for them. `message.taskId` is the first one. */
  readonly mayAnswer?: readonly string[]
}

/** The result of sending a message: a task, or a message without a task. */
export type Outcome =
  | { readonly type: 'task'; readonly task: Task }
  | { readonly type: 'message'; readonly message: Message }

/** A request for a task. */
export interface GetTaskRequest extends TaskAddress {
  /** How many messages of the history to include at most. */
  readonly historyLength?: number
  /** Respond when the revision of the task is greater, or as soon as the server lets callers wait no longer. */
  readonly afterRevision?: number
}

/** A request for a page of the caller's tasks. */
export interface ListTasksRequest {
  readonly contextId?: string
  readonly state?: TaskState
  /** Only tasks whose status has this time (ISO 8601) or a later one. */
  readonly statusSince?: string
  readonly pageSize?: number
  readonly pageToken?: string
  readonly historyLength?: number
  readonly includeArtifacts?: boolean
  /** Include the revisions of the tasks. A list without history and artifacts costs one more read per task then. */
  readonly includeRevisions?: boolean
  readonly tenant?: string
  readonly metadata?: JsonObject
}

/** A page of tasks. */
export interface TaskPage {
  readonly tasks: readonly Task[]
  /** The token of the next page; empty on the last page. */
  readonly nextPageToken: string
  readonly pageSize: number
  /** The number of matching tasks on all pages. */
  readonly totalSize: number
  /** Whether the request asked for artifacts. */
  readonly withArtifacts: boolean
}

/** A request to cancel a task. */
export type CancelTaskRequest = TaskAddress

/** A request to stream the events of a task. */
export interface SubscribeRequest extends TaskAddress {
  /** Continue after this generation. Otherwise, the stream starts with the current task. */
  readonly after?: number
  /** Send an ended task once, instead of rejecting the request. */
  readonly includeEnded?: boolean
  /** What the dialect of the request changes. */
  readonly quirks?: StreamQuirks
  /** Include the position in the trace in the events of the stream. */
  readonly traceMetadata?: boolean
}

/** A request about one webhook of a task. */
export interface PushConfigRef extends TaskAddress {
  /** The id of the webhook. Requests of older dialects may lack it, and mean any one. */
  readonly id?: string
  /** Answer with a webhook without a URL if the task has none, instead of an error. For 0.1 clients. */
  readonly mayBeMissing?: boolean
}

/** A request for a page of the webhooks of a task. */
export interface ListPushConfigsRequest extends TaskAddress {
  readonly pageSize?: number
  readonly pageToken?: string
}

/** A page of webhooks. */
export interface PushConfigPage {
  readonly configs: readonly PushConfig[]
  /** The token of the next page; empty on the last page. */
  readonly nextPageToken: string
}

/** A request for the extended card. */
export interface ExtendedCardRequest {
  readonly tenant?: string
}

/** The operations of A2A. The runtime implements them on a task log, clients on a transport. */
export interface Service {
  sendMessage(request: SendRequest, call: Call): Promise<Outcome>
  streamMessage(request: SendRequest, call: Call): AsyncGenerator<StreamEvent>
  getTask(request: GetTaskRequest, call: Call): Promise<Task>
  listTasks(request: ListTasksRequest, call: Call): Promise<TaskPage>
  cancelTask(request: CancelTaskRequest, call: Call): Promise<Task>
  subscribeToTask(request: SubscribeRequest, call: Call): AsyncGenerator<StreamEvent>
  createPushConfig(request: PushConfig, call: Call): Promise<PushConfig>
  getPushConfig(request: PushConfigRef, call: Call): Promise<PushConfig>
  listPushConfigs(request: ListPushConfigsRequest, call: Call): Promise<PushConfigPage>
  deletePushConfig(request: PushConfigRef, call: Call): Promise<void>
  getExtendedCard(request: ExtendedCardRequest, call: Call): Promise<AgentCard>
}

/** The name of an operation. */
export type Operation = keyof Service

/** The operations that return a stream of events. */
export type StreamOperation = 'streamMessage' | 'subscribeToTask'

/** The operations that return one result. */
export type UnaryOperation = Exclude<Operation, StreamOperation>

export type RequestOf<O extends Operation> = Parameters<Service[O]>[0]

export type ResultOf<O extends UnaryOperation> = Awaited<ReturnType<Service[O]>>
