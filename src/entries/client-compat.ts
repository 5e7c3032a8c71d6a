/** A client for code that was written against the JSON of A2A 0.3. */

export { type A2AClient, A2AClientImpl, type A2AStreamEvent, type MessageSendParams } from '../core/client/compat.ts'
export type {
  A2AEvent,
  FilePart,
  JSONRPCErrorResponse,
  JSONRPCRequest,
  JSONRPCResponse,
  StatusUpdateEvent,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from '../core/dialects/v0.3-house/wire-types.ts'
