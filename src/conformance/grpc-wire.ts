import { type DescMethod, fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import type { JsonObject } from '../core/base/json.ts'
import { trailersOf } from '../core/http/fetch.ts'
import { messageNamed, methodNamed, pathOf, registry, serviceNamed } from '../core/transports/grpc/proto-registry.ts'
import { type StatusName, statusCodes } from '../core/transports/grpc/status.ts'
import { isCurrent } from './interface.ts'
import { grpcCallOf, type Operation } from './requests.ts'
import type { RequestChanges, StreamEvent, Wire, WireExchange, WireOptions } from './wire.ts'

/** Maximum length of a message, in bytes. */
const maxMessage = 10 * 1024 * 1024

/** Speaks gRPC to an agent of A2A 1.0 or 0.3. Messages are converted by the official proto files, from and to ProtoJSON. */
export function createGrpcWire({ target, fetch, headers, timeout, signal }: WireOptions): Wire {
  const service = serviceNamed(isCurrent(target.version) ? 'lf.a2a.v1.A2AService' : 'a2a.v1.A2AService')
  let last: WireExchange | undefined

  async function request(operation: Operation, params: JsonObject, changes: RequestChanges) {
    const call = grpcCallOf(operation, params, target)
    const method = methodNamed(service, call.method)
    const named = target.tenant === undefined ? call.request : { tenant: target.tenant, ...call.request }
    const url = `${new URL(target.url).origin}${pathOf(method)}`
    const abort = new AbortController()
    const all: Record<string, string | undefined> = {
      'content-type': 'application/grpc+proto',
      te: 'trailers',
      'a2a-version': target.version,
      ...headers,
      ...changes.headers,
    }
    const response = await fetch(url, {
      method: 'POST',
      headers: Object.fromEntries(
        Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== undefined),
      ),
      body: encodeFrame(method, named),
      signal: AbortSignal.any([signal, abort.signal, AbortSignal.timeout(timeout)]),
    })
    const base = { method: 'POST', url, sent: JSON.stringify(named), status: response.status, id: null }
    return { method, response, abort, base: { ...base, headers: response.headers } }
  }

  type Base = Awaited<ReturnType<typeof request>>['base']

  function remember(base: Base, end: End, result: unknown): WireExchange {
    const isError = end.name !== 'OK'
    const json = isError ? errorOf(end) : result
    last = {
      ...base,
      json,
      isError,
      grpcStatus: end.name,
      text: JSON.stringify(json) ?? '',
      result: isError ? undefined : result,
    }
    return last
  }

  return {
    target,
    last: () => last,
    raw: () => Promise.reject(new Error('gRPC has no raw requests.')),
    async call(operation, params, changes = {}) {
      const { method, response, base } = await request(operation, params, changes)
      let result: unknown
      for await (const message of readFrames(response)) result = decode(method, message)
      return remember(base, await endOf(response), result)
    },
    async open(operation, params, changes = {}) {
      const { method, response, base, abort } = await request(operation, params, changes)
      const messages = readFrames(response)
      const take = async (): Promise<StreamEvent | undefined> => {
        const { value, done } = await messages.next()
        if (done) return undefined
        const json = decode(method, value)
        last = { ...base, json, result: json, isError: false, grpcStatus: 'OK', text: JSON.stringify(json) }
        return { json, result: json, isError: false }
      }
      // A call that fails has no messages: its error is the answer.
      let first = await take()
      if (!first) {
        const answer = remember(base, await endOf(response), undefined)
        return {
          exchange: answer,
          isStream: false,
          next: async () => undefined,
          rest: async () => [],
          async close() {},
        }
      }
      const opened: WireExchange = { ...base, json: undefined, result: undefined, isError: false, text: '' }
      let isEnded = false
      const next = async (): Promise<StreamEvent | undefined> => {
        const event = first ?? (isEnded ? undefined : await take())
        first = undefined
        if (event || isEnded) return event
        isEnded = true
        const end = await endOf(response)
        return end.name === 'OK' ? undefined : { json: errorOf(end), result: undefined, isError: true }
      }
      return {
        exchange: opened,
        isStream: true,
        next,
        async rest() {
          const all: StreamEvent[] = []
          for (let event = await next(); event; event = await next()) all.push(event)
          return all
        },
        async close() {
          abort.abort()
          await messages.return(undefined).catch(() => {})
        },
      }
    },
  }
}

function encodeFrame({ input }: DescMethod, json: JsonObject): Uint8Array<ArrayBuffer> {
  const message = toBinary(input, fromJson(input, json as JsonValue, { registry, ignoreUnknownFields: true }))
  const frame = new Uint8Array(5 + message.length)
  new DataView(frame.buffer).setUint32(1, message.length)
  frame.set(message, 5)
  return frame
}

function decode({ output }: DescMethod, message: Uint8Array): JsonValue {
  return toJson(output, fromBinary(output, message, { readUnknownFields: false }), { registry })
}

/** The messages of a response. The suite accepts no compression, so none may be compressed. */
async function* readFrames({ body }: Response): AsyncGenerator<Uint8Array, undefined> {
  let rest = new Uint8Array()
  for await (const chunk of body ?? []) {
    const joined = new Uint8Array(rest.length + chunk.length)
    joined.set(rest)
    joined.set(chunk, rest.length)
    rest = joined
    while (rest.length >= 5) {
      const length = new DataView(rest.buffer, rest.byteOffset).getUint32(1)
      if (rest[0] !== 0) throw new Error('The answer is compressed, which the request does not allow.')
      if (length > maxMessage) throw new Error(`The answer has a message of ${length} bytes.`)
      if (rest.length < 5 + length) break
      yield rest.slice(5, 5 + length)
      rest = rest.slice(5 + length)
    }
  }
}

interface End {
  readonly name: StatusName | undefined
  readonly message: string
  readonly details: readonly JsonObject[]
}

/** The status of a call: in its trailers, or in its headers if it has no messages. */
async function endOf(response: Response): Promise<End> {
  const trailers = await trailersOf(response)
  const read = (name: string) => trailers.get(name) ?? response.headers.get(name)
  const code = read('grpc-status')
  const name = Object.entries(statusCodes).find(([, number]) => `${number}` === code)?.[0] as StatusName | undefined
  return { name, message: decodeText(read('grpc-message') ?? ''), details: detailsIn(read('grpc-status-details-bin')) }
}

/** An error in the form of the REST binding: a google.rpc.Status in JSON. */
function errorOf({ name, message, details }: End): JsonObject {
  return { error: { code: name === undefined ? 2 : statusCodes[name], status: name ?? 'missing', message, details } }
}

function decodeText(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const Status = messageNamed('google.rpc.Status')

function detailsIn(encoded: string | null): readonly JsonObject[] {
  if (encoded === null) return []
  try {
    const status = toJson(Status, fromBinary(Status, base64Decode(encoded)), { registry })
    return (status as { readonly details?: readonly JsonObject[] }).details ?? []
  } catch {
    return []
  }
}
