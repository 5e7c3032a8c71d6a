import type { Binding } from '../../../src/core/dialects/dialect.ts'
import type { DialectName } from '../../../src/core/dialects/versions.ts'
import { grpcClient } from '../grpc/grpc-client.ts'
import { type Headers, isStream, readEvents } from './wire-client.ts'

/** One event of a stream, in terms that all dialects share. */
export interface StreamLine {
  /** `artifact` events have no state. An `error` ends the stream. */
  readonly type: 'task' | 'status' | 'artifact' | 'message' | 'error'
  readonly taskId?: string
  /** As 0.3 spells it. */
  readonly state?: string
  readonly text?: string
  /** Only in dialects before 1.0. */
  readonly final?: boolean
  /** The number of an error, or its gRPC status. */
  readonly code?: number
}

export interface OpenStreamOptions {
  readonly taskId?: string | undefined
  readonly headers?: Headers
}

/** Sends a text in a dialect over a binding, with none of our code, and reads the answering stream. */
export async function* streamIn(
  [dialect, binding]: readonly [DialectName, Binding],
  { url, port }: { readonly url: string; readonly port: number },
  text: string,
  { taskId, headers = {} }: OpenStreamOptions = {},
): AsyncGenerator<StreamLine> {
  if (binding === 'GRPC') return yield* grpcLines(port, dialect, streamParams(dialect, text, taskId), headers)
  const isRpc = binding === 'JSONRPC'
  const response = await requestStreamIn([dialect, binding], url, text, { taskId, headers })
  if (!isStream(response)) throw new Error(`expected a stream, got ${response.status} ${await response.text()}`)
  for await (const { result, error, ...event } of readEvents(response)) {
    const isError = error !== undefined || event.name === 'error'
    yield isError ? { type: 'error', code: error?.code } : lineOf(isRpc ? result : event)
  }
}

/** Sends a text, or an image, in a dialect over HTTP, for a stream. A null `id` leaves out the id of a JSON-RPC request. */
export function requestStreamIn(
  [dialect, binding]: readonly [DialectName, Binding],
  url: string,
  text: string,
  {
    taskId,
    headers = {},
    id = 1,
    isImage = false,
  }: OpenStreamOptions & { readonly id?: number | null; readonly isImage?: boolean } = {},
): Promise<Response> {
  const params = streamParams(dialect, text, taskId, isImage)
  const { path, version, method } = httpTargets[`${dialect} ${binding}`] ?? {}
  const rpc = { jsonrpc: '2.0', ...(id !== null && { id }), method, params }
  return fetch(`${url.replace(/\/$/, '')}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(version && { 'a2a-version': version }), ...headers },
    body: JSON.stringify(binding === 'JSONRPC' ? rpc : params),
  })
}

/** The params of a stream request: the message is new, or continues a task. */
function streamParams(dialect: DialectName, text: string, taskId?: string, isImage = false): object {
  const messageId = crypto.randomUUID()
  const file = { bytes: 'aGk=', mimeType: 'image/png' }
  switch (dialect) {
    case 'v1.1':
    case 'v1.0':
      return {
        message: {
          messageId,
          role: 'ROLE_USER',
          parts: [isImage ? { raw: 'aGk=', mediaType: 'image/png' } : { text }],
          taskId,
        },
      }
    case 'v0.3-proto':
      return {
        message: {
          messageId,
          role: 'ROLE_USER',
          content: [isImage ? { file: { fileWithBytes: 'aGk=', mimeType: 'image/png' } } : { text }],
          taskId,
        },
      }
    case 'v0.1':
      return {
        id: taskId ?? messageId,
        message: { role: 'user', parts: [isImage ? { type: 'file', file } : { type: 'text', text }] },
      }
    case 'v0.2':
    case 'v0.3':
    case 'v0.3-house':
      return {
        message: {
          kind: 'message',
          messageId,
          role: 'user',
          parts: [isImage ? { kind: 'file', file } : { kind: 'text', text }],
          taskId,
        },
      }
  }
}

/** Where the streams of a dialect are opened over HTTP. */
const httpTargets: Readonly<Record<string, { path: string; version?: string; method?: string }>> = {
  'v1.0 JSONRPC': { path: '/', version: '1.0', method: 'SendStreamingMessage' },
  'v1.0 HTTP+JSON': { path: '/message:stream', version: '1.0' },
  'v0.3 JSONRPC': { path: '/', version: '0.3', method: 'message/stream' },
  'v0.3 HTTP+JSON': { path: '/v1/message:stream' },
  'v0.3-proto HTTP+JSON': { path: '/v1/message:stream' },
  'v0.3-house JSONRPC': { path: '/api/a2a', method: 'message/stream' },
  'v0.2 JSONRPC': { path: '/', version: '0.2', method: 'message/stream' },
  'v0.1 JSONRPC': { path: '/', method: 'tasks/sendSubscribe' },
}

async function* grpcLines(
  port: number,
  dialect: DialectName,
  request: object,
  metadata: Headers,
): AsyncGenerator<StreamLine> {
  const service = dialect === 'v1.0' ? 'lf.a2a.v1.A2AService' : 'a2a.v1.A2AService'
  const { message, ...rest } = request as { readonly message: object }
  const wire = dialect === 'v1.0' ? { message } : { request: message, ...rest }
  const stream = grpcClient(port).stream(`${service}/SendStreamingMessage`, wire, { metadata })
  try {
    for await (const event of stream) yield lineOf(event)
  } catch (error) {
    yield { type: 'error', code: (error as { readonly code: number }).code }
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the objects of six dialects
function lineOf(wire: any): StreamLine {
  const task = wire.task ?? wire.msg?.task ?? (wire.kind === 'task' ? wire : undefined)
  if (task) return { type: 'task', taskId: task.id, ...statusOf(task.status) }
  const message = wire.message ?? wire.msg ?? (wire.kind === 'message' ? wire : undefined)
  if (message?.parts ?? message?.content) return { type: 'message', ...textIn(message) }
  const update = wire.statusUpdate ?? wire.artifactUpdate ?? wire
  const taskId = update.taskId ?? update.id
  if (update.artifact) return { type: 'artifact', taskId, ...textIn(update.artifact) }
  return { type: 'status', taskId, ...statusOf(update.status), ...('final' in update && { final: update.final }) }
}

// biome-ignore lint/suspicious/noExplicitAny: the objects of six dialects
function statusOf({ state, message, update }: any) {
  const spoken = message ?? update
  return {
    state: state.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-').replace('cancelled', 'canceled'),
    ...(spoken && textIn(spoken)),
  }
}

// biome-ignore lint/suspicious/noExplicitAny: the objects of six dialects
function textIn({ parts, content }: any) {
  return { text: (parts ?? content).map(({ text = '' }) => text).join('') }
}
