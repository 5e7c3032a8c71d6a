import { type DescMessage, type DescMethod, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf'
import { base64Decode, base64Encode } from '@bufbuild/protobuf/wire'
import { grpcCallOf } from '../../src/conformance/requests.ts'
import { type Fetch, trailersOf, withTrailers } from '../../src/core/http/fetch.ts'
import { messageNamed, methodNamed, registry, serviceNamed } from '../../src/core/transports/grpc/proto-registry.ts'
import { type Answer, type Call, type Fault, type Json, operations } from './faulty-agent.ts'

const services = [serviceNamed('lf.a2a.v1.A2AService'), serviceNamed('a2a.v1.A2AService')] as const
const Status = messageNamed('google.rpc.Status')

/** A `fetch` for gRPC that reaches the agent through a proxy with a fault. The fault changes the messages as JSON. */
export function faultyGrpcFetch(send: Fetch, fault: Fault): Fetch {
  return async (address, init) => {
    const url = new URL(address)
    const [, serviceName, methodName = ''] = url.pathname.split('/')
    const [current, legacy] = services
    const method = methodNamed(serviceName === legacy.typeName ? legacy : current, methodName)
    const call = readCall(url, method, init)
    fault.request?.(call)
    const response = await send(address, { ...init, headers: call.headers, body: frame(method.input, call.params) })
    if (method.methodKind === 'server_streaming' && response.body && !response.headers.has('grpc-status')) {
      const changed = response.body.pipeThrough(changeMessages(method.output, fault, call))
      return withTrailers(new Response(changed, response), trailersOf(response))
    }
    return await changeAnswer(response, method, call, fault)
  }
}

function readCall(url: URL, { input, name }: DescMethod, init: RequestInit): Call {
  const bytes = init.body as Uint8Array
  const params: Json = toJson(input, fromBinary(input, bytes.slice(5)), { registry })
  const targets = (['1.0', '0.3'] as const).map((version) => ({ version, binding: 'GRPC', url: '' }) as const)
  const operation = operations.find((each) => targets.some((target) => grpcCallOf(each, {}, target).method === name))
  const pathId = params.taskId ?? params.id ?? params.name?.replace('tasks/', '')
  return {
    operation,
    isRpc: false,
    isGrpc: true,
    headers: new Headers(init.headers),
    url,
    pathId,
    body: params,
    params,
  }
}

async function changeAnswer(response: Response, { output }: DescMethod, call: Call, fault: Fault): Promise<Response> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const trailers = new Headers(await trailersOf(response))
  const read = (name: string) => trailers.get(name) ?? response.headers.get(name)
  const isError = read('grpc-status') !== '0'
  const headers = new Headers(response.headers)
  const answer: Answer = {
    status: isError ? 400 : 200,
    headers,
    trailers,
    json: isError
      ? { error: { message: decodeURIComponent(read('grpc-message') ?? ''), details: detailsIn(read) } }
      : decode(output, bytes.slice(5)),
  }
  if (isError) trailers.set('grpc-status', read('grpc-status') ?? '')
  headers.delete('grpc-status')
  fault.answer?.(answer, call)
  if (answer.status < 300) {
    trailers.set('grpc-status', '0')
    return withTrailers(new Response(frame(output, answer.json), { headers }), Promise.resolve(trailers))
  }
  // A fault that makes an error of a success does not choose its status.
  if (!isError) trailers.set('grpc-status', '13')
  const { message = '', details = [] } = answer.json?.error ?? {}
  trailers.set('grpc-message', encodeURIComponent(message))
  trailers.set('grpc-status-details-bin', base64Encode(encode(Status, { message, details }), 'std_raw'))
  return withTrailers(new Response(null, { headers }), Promise.resolve(trailers))
}

function detailsIn(read: (name: string) => string | null): Json {
  const encoded = read('grpc-status-details-bin')
  return encoded === null ? [] : decode(Status, base64Decode(encoded)).details
}

function changeMessages(type: DescMessage, { event = (each) => [each] }: Fault, call: Call): ReadableWritablePair {
  let rest = new Uint8Array()
  let index = 0
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      rest = Uint8Array.from([...rest, ...chunk])
      while (rest.length >= 5) {
        const end = 5 + new DataView(rest.buffer, rest.byteOffset).getUint32(1)
        if (rest.length < end) return
        for (const json of event(decode(type, rest.slice(5, end)), index++, call)) controller.enqueue(frame(type, json))
        rest = rest.slice(end)
      }
    },
  })
}

function decode(type: DescMessage, bytes: Uint8Array): Json {
  return toJson(type, fromBinary(type, bytes), { registry })
}

function encode(type: DescMessage, json: Json): Uint8Array {
  return toBinary(type, fromJson(type, json ?? {}, { registry, ignoreUnknownFields: true }))
}

function frame(type: DescMessage, json: Json): Uint8Array<ArrayBuffer> {
  const message = encode(type, json)
  const bytes = new Uint8Array(5 + message.length)
  new DataView(bytes.buffer).setUint32(1, message.length)
  bytes.set(message, 5)
  return bytes
}
