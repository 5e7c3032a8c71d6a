import type { AgentCard } from './card.ts'
import type { StreamEvent } from './events.ts'
import type { JsonObject, Message, Principal, Task, TaskState } from './model.ts'

/** What comes with every call, whatever the operation. */
export interface Call {
  readonly principal: Principal
  /** Aborts when the caller has gone. Reading stops then; the task goes on. */
  readonly signal: AbortSignal
  /** Two sends of one caller with the same key are one send. */
  readonly idempotencyKey?: string
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

export interface SendRequest {
  readonly message: Message
  readonly configuration?: SendConfiguration
  readonly metadata?: JsonObject
  readonly tenant?: string
  /** For streams: continue after this generation instead of telling all from the start. */
  readonly after?: number
}

export interface SendConfiguration {
  readonly acceptedOutputModes?: readonly string[]
  readonly historyLength?: number
  /** Answer as soon as the task exists instead of when it rests. */
  readonly returnImmediately?: boolean
  readonly push?: PushConfig
}

export type Outcome =
  | { readonly type: 'task'; readonly task: Task }
  | { readonly type: 'message'; readonly message: Message }

export interface GetTaskRequest {
  readonly taskId: string
  readonly historyLength?: number
  readonly tenant?: string
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

export interface CancelTaskRequest {
  readonly taskId: string
  readonly metadata?: JsonObject
  readonly tenant?: string
}

export interface SubscribeRequest {
  readonly taskId: string
  /** Continue after this generation; otherwise the task as of now comes first. */
  readonly after?: number
  readonly tenant?: string
}

export interface PushConfig {
  readonly taskId?: string
  readonly id?: string
  readonly url: string
  readonly token?: string
  readonly authentication?: { readonly scheme: string; readonly credentials?: string }
  readonly tenant?: string
}

export interface PushConfigRef {
  readonly taskId: string
  readonly id: string
  readonly tenant?: string
}

export interface ListPushConfigsRequest {
  readonly taskId: string
  readonly pageSize?: number
  readonly pageToken?: string
  readonly tenant?: string
}

export interface PushConfigPage {
  readonly configs: readonly PushConfig[]
  readonly nextPageToken: string
}

export interface ExtendedCardRequest {
  readonly tenant?: string
}
