import { fileURLToPath } from 'node:url'
import {
  type CallOptions,
  type ChannelCredentials,
  Client,
  type ClientDuplexStream,
  type ClientOptions,
  type ClientReadableStream,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceDefinition,
  type StatusObject,
} from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { onTestFinished } from 'vitest'

/** A decoded message of `proto/`, with enums by name. */
// biome-ignore lint/suspicious/noExplicitAny: each test knows the type of its messages
export type GrpcMessage = any

export interface GrpcCallOptions extends CallOptions {
  readonly metadata?: Readonly<Record<string, string>>
}

/** A `@grpc/grpc-js` client that uses `proto/` and none of our code. */
export interface GrpcClient {
  /** Rejects with the `ServiceError` of grpc-js. */
  unary(method: string, request: object, options?: GrpcCallOptions): Promise<GrpcMessage>
  stream(method: string, request: object, options?: GrpcCallOptions): ClientReadableStream<GrpcMessage>
  bidirectional(method: string): ClientDuplexStream<object, GrpcMessage>
}

export interface DialOptions {
  readonly host?: string
  readonly credentials?: ChannelCredentials
}

export function grpcClient(port: number, options: ClientOptions = {}, dialOptions: DialOptions = {}): GrpcClient {
  const { host = '127.0.0.1', credentials: channelCredentials = credentials.createInsecure() } = dialOptions
  const client = new Client(`${host}:${port}`, channelCredentials, options)
  onTestFinished(() => client.close())
  return {
    unary(method, request, { metadata, ...options } = {}) {
      const { path, requestSerialize, responseDeserialize } = methodOf(method)
      const callMetadata = metadataOf(metadata)
      return new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          path,
          requestSerialize,
          responseDeserialize,
          request,
          callMetadata,
          options,
          (error, response) => (error ? reject(error) : resolve(response)),
        )
      })
    },
    stream(method, request, { metadata, ...options } = {}) {
      const { path, requestSerialize, responseDeserialize } = methodOf(method)
      const callMetadata = metadataOf(metadata)
      return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, callMetadata, options)
    },
    bidirectional(method) {
      const { path, requestSerialize, responseDeserialize } = methodOf(method)
      return client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize)
    },
  }
}

/** Reads all messages of a stream and its final status. */
export async function readAll(
  stream: ClientReadableStream<GrpcMessage>,
): Promise<{ readonly messages: readonly GrpcMessage[]; readonly status: StatusObject }> {
  const messages: GrpcMessage[] = []
  stream.on('data', (message) => messages.push(message))
  // The status reports the error as well.
  stream.on('error', () => {})
  const status = await new Promise<StatusObject>((resolve) => stream.once('status', resolve))
  return { messages, status }
}

const files = [
  'lf/a2a/v1/a2a.proto',
  'a2a/v1/a2a.proto',
  'grpc/health/v1/health.proto',
  'grpc/reflection/v1/reflection.proto',
  'grpc/reflection/v1alpha/reflection.proto',
  'google/rpc/status.proto',
  'google/rpc/error_details.proto',
]
const includeDirs = [fileURLToPath(new URL('../../../proto', import.meta.url))]
const definitions = loadSync(files, { includeDirs, enums: String, longs: Number })

/** `method` is its path without the leading slash. */
function methodOf(method: string): MethodDefinition<object, GrpcMessage> {
  const [service = '', name = ''] = method.split('/')
  const definition = (definitions[service] as ServiceDefinition | undefined)?.[name]
  if (!definition) throw new Error(`there is no ${method} in proto/`)
  return definition as MethodDefinition<object, GrpcMessage>
}

function metadataOf(values: Readonly<Record<string, string>> = {}): Metadata {
  const metadata = new Metadata()
  for (const [name, value] of Object.entries(values)) metadata.set(name, value)
  return metadata
}
