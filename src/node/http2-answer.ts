import type { ServerHttp2Stream } from 'node:http2'
import { answer } from '../http/answer.ts'
import type { Exchange, Outgoing } from '../http/exchange.ts'
import { securityHeaders } from '../http/security-headers.ts'
import type { Http2Incoming } from './http2-incoming.ts'
import { dismiss, nextTurn, writeAll } from './http2-write.ts'

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
  if (typeof body === 'string') {
    await nextTurn()
    if (!stream.closed) sendText(stream, outgoing, body, isHead)
  } else {
    if (!stream.closed) stream.respond(headOf(outgoing), { endStream: isHead })
    await writeAll(stream, body[Symbol.asyncIterator](), unreadTimeout)
    stream.end()
  }
  dismiss(stream)
}

function sendText(stream: ServerHttp2Stream, outgoing: Outgoing, text: string, isHead: boolean): void {
  const head = headOf(outgoing)
  const sized = isBodiless(outgoing.status) ? head : { ...head, 'content-length': Buffer.byteLength(text) }
  if (isHead || text === '') {
    stream.respond(sized, { endStream: true })
  } else {
    stream.respond(sized)
    stream.end(text)
  }
}

function headOf({ status, headers }: Outgoing) {
  return { ':status': status, ...securityHeaders, ...headers }
}

/** RFC 9110 §8.6: these have no `Content-Length`. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}
