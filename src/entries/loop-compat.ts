/** The loop as a class, for code that was written against another loop and the JSON of A2A 0.3. Needs RxJS. */

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
export { AgentLoop, type CompatEvent } from '../loop/compat.ts'
