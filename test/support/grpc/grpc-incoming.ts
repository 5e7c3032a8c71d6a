import { BodyTooLarge } from '../../../src/core/http/exchange.ts'
import type { GrpcIncoming, GrpcOutgoing, Metadata } from '../../../src/core/transports/grpc/rpc.ts'

export interface GrpcRequest {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** The chunks of the body. */
  readonly body?: readonly Uint8Array[]
  readonly signal?: AbortSignal
}

/** A gRPC call without a connection. */
export function grpcIncoming({ path, headers = {}, body = [], signal }: GrpcRequest): GrpcIncoming {
  const allHeaders: Readonly<Record<string, string>> = { 'content-type': 'application/grpc', ...headers }
  return {
    method: 'POST',
    path,
    query: '',
    base: '',
    secure: false,
    certificate: () => undefined,
    header: (name) => allHeaders[name],
    async bytes(limit) {
      const bytes = Buffer.concat(body)
      if (bytes.length > limit) throw new BodyTooLarge(limit)
      return bytes
    },
    async *chunks() {
      yield* body
    },
    signal: signal ?? new AbortController().signal,
  }
}

/** The unframed messages of a response, and its trailers. */
export async function readOutgoing(
  outgoing: GrpcOutgoing,
): Promise<{ readonly messages: readonly Uint8Array[]; readonly trailers: Metadata }> {
  if (!('rest' in outgoing)) {
    return { messages: outgoing.message ? [unframe(outgoing.message)] : [], trailers: outgoing.trailers }
  }
  const messages = [unframe(outgoing.first)]
  for (;;) {
    const { done, value } = await outgoing.rest.next()
    if (done) return { messages, trailers: value }
    messages.push(unframe(value))
  }
}

/** A message with its frame header. */
export function frame(message: Uint8Array): Uint8Array {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

function unframe(bytes: Uint8Array): Uint8Array {
  const message = bytes.subarray(5)
  if (!Buffer.from(bytes).equals(frame(message))) throw new Error('expected one complete frame')
  return message
}
