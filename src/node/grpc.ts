import type { ServerHttp2Stream } from 'node:http2'
import type { GrpcExchange, GrpcOutgoing, Metadata } from '../transports/grpc/rpc.ts'
import type { Http2Incoming } from './http2-incoming.ts'
import { dismiss, writeAll } from './http2-write.ts'
import { nextTurn } from './next-turn.ts'

export function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc\s*(?:[+;]|$)/i.test(contentType)
}

export interface GrpcAnswering {
  readonly exchange: GrpcExchange
  /** Milliseconds for which a caller may take nothing of a stream. */
  readonly unreadTimeout: number
}

/** Answers a stream of HTTP/2 that is a gRPC call. */
export async function answerGrpc(
  stream: ServerHttp2Stream,
  incoming: Http2Incoming,
  { exchange, unreadTimeout }: GrpcAnswering,
): Promise<void> {
  const outgoing = await exchange(incoming)
  if ('rest' in outgoing) await sendMessages(stream, outgoing, unreadTimeout)
  else await sendWhole(stream, outgoing)
  dismiss(stream)
}

type Streamed = Extract<GrpcOutgoing, { readonly rest: unknown }>
type Whole = Exclude<GrpcOutgoing, Streamed>

async function sendWhole(stream: ServerHttp2Stream, { headers, message, trailers }: Whole): Promise<void> {
  await nextTurn()
  if (stream.closed) return
  if (message) {
    begin(stream, headers, () => trailers)
    stream.end(message)
  } else {
    stream.respond({ ':status': 200, ...headers, ...trailers }, { endStream: true })
  }
}

async function sendMessages(stream: ServerHttp2Stream, answer: Streamed, unreadTimeout: number): Promise<void> {
  const { headers, first, rest } = answer
  let trailers: Metadata = {}
  if (!stream.closed) {
    begin(stream, headers, () => trailers)
    stream.write(first)
  }
  trailers = (await writeAll(stream, rest, unreadTimeout)) ?? {}
  stream.end()
}

function begin(stream: ServerHttp2Stream, headers: Metadata, trailers: () => Metadata): void {
  stream.once('wantTrailers', () => stream.sendTrailers(trailers()))
  stream.respond({ ':status': 200, ...headers }, { waitForTrailers: true })
}
