import type { ServerHttp2Stream } from 'node:http2'
import { answer } from '../http/answer.ts'
import type { Exchange } from '../http/exchange.ts'
import { secured } from '../http/security-headers.ts'
import type { Http2Incoming } from './http2-incoming.ts'
import { dismiss, writeAll } from './http2-write.ts'
import { nextTurn } from './next-turn.ts'

export interface Http2Answering {
  readonly exchange: Exchange
  readonly onError: (error: unknown) => void
  /** Milliseconds for which a caller may take nothing of a stream. */
  readonly unreadTimeout: number
}

/** Answers a request of HTTP/2 that is not gRPC, as the same one of HTTP/1.1 would be. */
export async function answerHttp2(
  stream: ServerHttp2Stream,
  incoming: Http2Incoming,
  { exchange, onError, unreadTimeout }: Http2Answering,
): Promise<void> {
  const outgoing = await answer(exchange, incoming, onError)
  const { body = '' } = outgoing
  const isHead = incoming.method === 'HEAD'
  const head = {
    ':status': outgoing.status,
    ...secured(outgoing.headers, incoming.method, incoming.header('content-type')),
  }
  if (typeof body === 'string') {
    await nextTurn()
    if (!stream.closed) sendText(stream, head, body, isHead)
  } else {
    if (!stream.closed) stream.respond(head, { endStream: isHead })
    await writeAll(stream, body[Symbol.asyncIterator](), unreadTimeout)
    stream.end()
  }
  dismiss(stream)
}

type Head = { readonly ':status': number } & Readonly<Record<string, string | number>>

function sendText(stream: ServerHttp2Stream, head: Head, text: string, isHead: boolean): void {
  const sized = isBodiless(head[':status']) ? head : { ...head, 'content-length': Buffer.byteLength(text) }
  if (isHead || text === '') {
    stream.respond(sized, { endStream: true })
  } else {
    stream.respond(sized)
    stream.end(text)
  }
}

/** RFC 9110 §8.6: these have no `Content-Length`. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}
