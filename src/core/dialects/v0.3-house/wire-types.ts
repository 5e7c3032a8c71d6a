/** The JSON of the house profile of A2A 0.3, as code that was written against it declares it: mutable, with open values. */

// biome-ignore lint/suspicious/noExplicitAny: the values of metadata, data and results are the callers' own.
type Open = any

type Metadata = Record<string, Open>

interface TextPart {
  kind: 'text'
  text: string
  metadata?: Metadata
}

/** A file in a message or an artifact. */
export interface FilePart {
  kind: 'file'
  file: { name?: string; mimeType?: string; bytes?: string; uri?: string }
  metadata?: Metadata
}

interface DataPart {
  kind: 'data'
  data: Record<string, Open>
  metadata?: Metadata
}

interface Artifact {
  artifactId: string
  name?: string
  description?: string
  parts: (TextPart | FilePart | DataPart)[]
  metadata?: Metadata
  extensions?: string[]
}

interface TaskStatus {
  state: string
  message?: Record<string, Open>
  timestamp?: string
}

/** A changed status of a task. */
export interface TaskStatusUpdateEvent {
  kind: 'status-update'
  taskId: string
  contextId: string
  status: TaskStatus
  /** Whether it is the last event of its stream. */
  final: boolean
  metadata?: Metadata
}

/** A new artifact of a task, or a chunk of one. */
export interface TaskArtifactUpdateEvent {
  kind: 'artifact-update'
  taskId: string
  contextId: string
  artifact: Artifact
  append?: boolean
  lastChunk?: boolean
  metadata?: Metadata
}

/** A JSON-RPC request. */
export interface JSONRPCRequest {
  jsonrpc: '2.0'
  id: number | string
  method: string
  params?: Open
}

/** A JSON-RPC response, or one event of a stream. */
export interface JSONRPCResponse {
  jsonrpc: '2.0'
  id: number | string
  result?: Open
  error?: { code: number; message: string; data?: Open }
}

/** A JSON-RPC response with an error. */
export interface JSONRPCErrorResponse {
  jsonrpc: '2.0'
  id: number | string | null
  error: { code: number; message: string; data?: Open }
}

/** A status update as a stream carries it, in its JSON-RPC response. */
export interface StatusUpdateEvent extends JSONRPCResponse {
  result: TaskStatusUpdateEvent
}

/** Any event of a stream, without its JSON-RPC response. */
export interface A2AEvent {
  kind: 'task' | 'status-update' | 'artifact-update'
  taskId?: string
  contextId?: string
  [member: string]: Open
}
