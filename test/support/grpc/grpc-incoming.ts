import { BodyTooLarge } from '../../../src/http/exchange.ts'
import type { GrpcIncoming, GrpcOutgoing, Metadata } from '../../../src/transports/grpc/rpc.ts'

export interface GrpcRequest {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** In pieces as they come. */
  readonly body?: readonly Uint8Array[]
  readonly signal?: AbortSignal
}

/** A gRPC call without a wire. */
export function grpcIncoming({ path, headers = {}, body = [], signal }: GrpcRequest): GrpcIncoming {
  const all: Readonly<Record<string, string>> = { 'content-type': 'application/grpc', ...headers }
  return {
    method: 'POST',
    path,
    query: '',
    base: '',
    secure: false,
    certificate: () => undefined,
    header: (name) => all[name],
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

/** The messages of an answer without their frames, and how it ends. */
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

/** A message as it is in a body. */
export function frame(message: Uint8Array): Uint8Array {
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

function unframe(bytes: Uint8Array): Uint8Array {
  const message = bytes.subarray(5)
  if (!Buffer.from(bytes).equals(frame(message))) throw new Error('expected one whole frame')
  return message
}
