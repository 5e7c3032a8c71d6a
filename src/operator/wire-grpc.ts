import { type DescMethod, fromJson, type JsonValue, toBinary } from '@bufbuild/protobuf'
import { serverDialects } from '../core/dialects/server-dialects.ts'
import { type Incoming, withBody } from '../core/http/exchange.ts'
import { originOf } from '../core/http/origin.ts'
import { interfacesAt } from '../core/server/card.ts'
import { decodeMessage } from '../core/transports/grpc/codec.ts'
import { frameHeadLength, readMessages } from '../core/transports/grpc/frames.ts'
import { registry } from '../core/transports/grpc/proto-registry.ts'
import type { GrpcIncoming, GrpcOutgoing, Metadata } from '../core/transports/grpc/rpc.ts'
import { createGrpc } from '../core/transports/grpc/server.ts'
import { statusCodes } from '../core/transports/grpc/status.ts'
import { callerOf } from './a2a.ts'
import type { ConsoleHosted } from './agents.ts'
import type { WireRequest } from './contract-tools.ts'
import type { OperatorCall } from './routes.ts'

/** What arrives of the answer to a gRPC call: metadata first, then each message as JSON. */
export type GrpcPiece = { readonly headers: Metadata } | { readonly text: string }

/**
 * Sends a message to the gRPC service of an agent, encoded and decoded as on the wire. The caller is the principal of
 * the session. Throws if the message does not fit the method, and when the call ends with another status than OK.
 */
export async function* callGrpc(
  request: Pick<WireRequest, 'url' | 'headers' | 'body'>,
  hosted: ConsoleHosted,
  { incoming, session }: OperatorCall,
): AsyncGenerator<GrpcPiece> {
  const method = readMethod(request.url)
  const body = encodeBody(method, request.body)
  const { options, service, onError, isReady } = hosted
  const dialects = serverDialects(options)
  const exchange = createGrpc({
    ...options,
    service,
    dialects,
    onError,
    isReady,
    tenant: undefined,
    authenticate: () => callerOf(session),
    originOf: (call) => originOf(call, options),
    publicCard: (call) => ({
      ...hosted.card,
      interfaces: interfacesAt(originOf(call, options), dialects, options),
    }),
  })
  const outgoing = await exchange(toIncoming(request.headers, method, body, incoming))
  // Without a later message, the status is known from the start.
  yield { headers: 'rest' in outgoing ? outgoing.headers : { ...outgoing.headers, ...outgoing.trailers } }
  let trailers: Metadata = {}
  async function* chunks(): AsyncGenerator<Uint8Array> {
    trailers = yield* messagesOf(outgoing)
  }
  for await (const message of readMessages({ chunks, header: () => undefined }, Number.POSITIVE_INFINITY)) {
    yield { text: `${JSON.stringify(decodeMessage(method.output, message))}\n` }
  }
  const problem = problemIn(trailers)
  if (problem !== undefined) throw new Error(problem)
}

function readMethod(url: string): DescMethod {
  const [serviceName = '', methodName = ''] = url.replace(/^\//, '').split('/')
  const methods = registry.getService(serviceName)?.methods
  const method = methods?.find(({ name }) => name === methodName)
  if (method) return method
  const expected = methods
    ? `${serviceName} has ${methods.map(({ name }) => name).join(', ')}`
    : 'expected a service and a method, such as lf.a2a.v1.A2AService/SendMessage'
  throw new Error(`There is no method ${url}: ${expected}.`)
}

/** The message in a frame of its own. Reports members that the method does not have. */
function encodeBody({ input }: DescMethod, body: string): Uint8Array {
  try {
    const json = JSON.parse(body === '' ? '{}' : body) as JsonValue
    const message = toBinary(input, fromJson(input, json, { registry }))
    const frame = new Uint8Array(frameHeadLength + message.length)
    new DataView(frame.buffer).setUint32(1, message.length)
    frame.set(message, frameHeadLength)
    return frame
  } catch (error) {
    const problem = error instanceof Error ? error.message : `${error}`
    throw new Error(`The body is not the JSON of a ${input.typeName}: ${problem}`, { cause: error })
  }
}

function toIncoming(
  headers: WireRequest['headers'],
  { parent, name: method }: DescMethod,
  body: Uint8Array,
  outer: Incoming,
): GrpcIncoming {
  const sent = new Map(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const { signal } = outer
  return {
    ...withBody(outer, Promise.resolve(body)),
    method: 'POST',
    path: `/${parent.typeName}/${method}`,
    query: '',
    base: '',
    signal,
    header(name) {
      // The host of the page is the one at which the agent is reached.
      return sent.get(name) ?? (name === 'host' ? outer.header('host') : defaultHeaders[name])
    },
    async *chunks() {
      yield body
    },
  }
}

const defaultHeaders: Readonly<Record<string, string>> = { 'content-type': 'application/grpc+proto' }

async function* messagesOf(outgoing: GrpcOutgoing): AsyncGenerator<Uint8Array, Metadata> {
  if ('rest' in outgoing) {
    yield outgoing.first
    return yield* outgoing.rest
  }
  if (outgoing.message) yield outgoing.message
  return outgoing.trailers
}

/** Undefined if the status is OK. */
function problemIn(trailers: Metadata): string | undefined {
  const code = Number(trailers['grpc-status'])
  if (code === statusCodes.OK) return undefined
  const name = Object.entries(statusCodes).find(([, number]) => number === code)?.[0] ?? 'UNKNOWN'
  return `gRPC status ${code} ${name}: ${decodeURIComponent(trailers['grpc-message'] ?? '')}`
}
