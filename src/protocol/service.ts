import type { JsonObject } from '../base/json.ts'
import type { Trace } from '../base/trace-context.ts'
import type { AgentCard } from './card.ts'
import type { StreamEvent } from './events.ts'
import type { Carry, Message, Principal, Task, TaskState } from './model.ts'

/** What comes with every call, whatever the operation. */
export interface Call {
  readonly principal: Principal
  /** Aborts when the caller has gone. Reading stops then; the task goes on. */
  readonly signal: AbortSignal
  /** Two sends of one caller with the same key are one send. */
  readonly idempotencyKey?: string
  /** The address by which the caller came, for a card that must name it. */
  readonly origin?: string
  /** The extensions that the caller knows and asks for, by their URIs. */
  readonly extensions?: readonly string[]
  /** Gets those of them that are at work in this call, for the answer to name. */
  readonly activated?: Set<string>
  /** When the caller stops waiting, in milliseconds since 1970, for wires that tell it to the other side. */
  readonly deadline?: number
  /** The trace that the caller is in. */
  readonly trace?: Trace | undefined
  /** Said beside the request on wires that have headers, such as `traceparent`. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Which task a call is about. */
export interface TaskAddress {
  readonly taskId: string
  /** The id is the caller's own, as given in `SendRequest.alias`; if it is not, it is taken for the task's. */
  readonly isAlias?: boolean
  readonly tenant?: string
  /** What the caller said beside it. */
  readonly metadata?: JsonObject
  readonly carry?: Carry
}

export interface PushConfig extends Partial<Omit<TaskAddress, 'metadata'>> {
  readonly id?: string
  readonly url: string
  readonly token?: string
  readonly authentication?: { readonly scheme: string; readonly credentials?: string }
  /** In which dialect it came, and so is told. */
  readonly dialect?: string
}

export interface SendConfiguration {
  readonly acceptedOutputModes?: readonly string[]
  readonly historyLength?: number
  /** Answer as soon as the task exists instead of when it rests. */
  readonly returnImmediately?: boolean
  readonly push?: PushConfig
  /** Answer after so many milliseconds with the task as it is, if it has not come to rest. */
  readonly blockFor?: number
}

export interface SendRequest {
  readonly message: Message
  readonly configuration?: SendConfiguration
  readonly metadata?: JsonObject
  readonly tenant?: string
  /**
   * The id by which this caller knows the task, chosen by the caller. If there is no task of it yet, one begins;
   * `message.taskId` is not set then.
   */
  readonly alias?: string
  /** In which dialect it came: the next call about the task, if it does not tell, is taken for the same. */
  readonly dialect?: string
  readonly carry?: Carry
  /** For streams: end also when the task waits for credentials. */
  readonly endOnAuth?: boolean
  /** For streams: go on when the task waits for input, until it ends. */
  readonly holdOnInput?: boolean
  /** For streams: continue after this generation instead of telling all from the start. */
  readonly after?: number
  /** What is told of the task also tells where it is in its trace, if it is in one. */
  readonly tellsTrace?: boolean
  /** For streams: cancel the task if its reader leaves before the stream has come to its end. */
  readonly cancelOnDisconnect?: boolean
  /**
   * If the message brings results of tools: the tasks of which one waits for them. `message.taskId` is the first of
   * them.
   */
  readonly mayAnswer?: readonly string[]
}

export type Outcome =
  | { readonly type: 'task'; readonly task: Task }
  | { readonly type: 'message'; readonly message: Message }

export interface GetTaskRequest extends TaskAddress {
  readonly historyLength?: number
}

export interface ListTasksRequest {
  readonly contextId?: string
  readonly state?: TaskState
  /** Tasks whose status is of this moment (ISO 8601) or later. */
  readonly statusSince?: string
  readonly pageSize?: number
  readonly pageToken?: string
  readonly historyLength?: number
  readonly includeArtifacts?: boolean
  readonly tenant?: string
  /** What the caller said beside it. */
  readonly metadata?: JsonObject
}

export interface TaskPage {
  readonly tasks: readonly Task[]
  /** Empty on the last page. */
  readonly nextPageToken: string
  readonly pageSize: number
  readonly totalSize: number
  /** Whether the tasks were asked for with their artifacts. */
  readonly withArtifacts: boolean
}

export type CancelTaskRequest = TaskAddress

export interface SubscribeRequest extends TaskAddress {
  /** Continue after this generation; otherwise the task as of now comes first. */
  readonly after?: number
  /** A task that has ended is told once more, instead of refused. */
  readonly tellEnded?: boolean
  /** End also when the task waits for credentials. */
  readonly endOnAuth?: boolean
  /** Go on when the task waits for input, until it ends. */
  readonly holdOnInput?: boolean
}

export interface PushConfigRef extends TaskAddress {
  /** Without one, older dialects mean whichever there is. */
  readonly id?: string
}

export interface ListPushConfigsRequest extends TaskAddress {
  readonly pageSize?: number
  readonly pageToken?: string
}

export interface PushConfigPage {
  readonly configs: readonly PushConfig[]
  readonly nextPageToken: string
}

export interface ExtendedCardRequest {
  readonly tenant?: string
}

/** The operations of A2A. The runtime makes them from a task log; clients and gateways make them from a wire. */
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

export type Operation = keyof Service
