/** A client of the operator API, which the console uses too. */

export { currentVersion, protocolVersions, taskForms } from '../core/dialects/versions.ts'
export { createOperatorClient, type OperatorClient, OperatorError, type StreamItem } from '../operator/client.ts'
export type {
  AgentCards,
  AgentSummary,
  Answer as OperatorAnswer,
  CallNode,
  EventChunks,
  EventPage,
  EventQuery,
  EventRow,
  Feature,
  Inbox,
  Login,
  LoginScheme,
  Rerun,
  SeenAsDialect,
  Session,
  TaskDetail,
  TaskKey,
  TaskQuery,
  TaskRow,
  TaskTrace,
  TraceRow,
  Waiting,
} from '../operator/contract.ts'
export type {
  AgentOverview,
  CheckProgress,
  ComposeRequest,
  DeliveryRow,
  Finding,
  OverviewWindow,
  ReceivedDelivery,
  RegistryRow,
  WebhookKey,
  WebhookReceiver,
  WebhookRow,
  WireBinding,
  WireFrame,
  WireRequest,
} from '../operator/contract-tools.ts'
export { mergeChunks } from '../operator/event-chunks.ts'
