import type { ServerHttp2Stream } from 'node:http2'
import type { GrpcExchange, Metadata } from '../transports/grpc/rpc.ts'
import type { Http2Incoming } from './http2-incoming.ts'
import { dismiss, writeAll } from './http2-write.ts'

export function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc\s*(?:[+;]|$)/i.test(contentType)
}

/** Answers a stream of HTTP/2 that is a gRPC call. */
export async function answerGrpc(
  stream: ServerHttp2Stream,
  incoming: Http2Incoming,
  exchange: GrpcExchange,
): Promise<void> {
  const outgoing = await exchange(incoming)
  const { headers } = outgoing
  if ('rest' in outgoing) {
    let trailers: Metadata | undefined
    begin(stream, headers, () => trailers)
    stream.write(outgoing.first)
    trailers = await writeAll(stream, outgoing.rest)
    stream.end()
  } else if (outgoing.message) {
    begin(stream, headers, () => outgoing.trailers)
    stream.end(outgoing.message)
  } else if (!stream.destroyed) {
    stream.respond({ ':status': 200, ...headers, ...outgoing.trailers }, { endStream: true })
  }
  dismiss(stream)
}

function begin(stream: ServerHttp2Stream, headers: Metadata, trailers: () => Metadata | undefined): void {
  if (stream.destroyed) return
  stream.once('wantTrailers', () => stream.sendTrailers(trailers() ?? {}))
  stream.respond({ ':status': 200, ...headers }, { waitForTrailers: true })
}
