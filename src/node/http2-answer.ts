import type { ServerHttp2Stream } from 'node:http2'
import { answer } from '../http/answer.ts'
import type { Exchange } from '../http/exchange.ts'
import type { Http2Incoming } from './http2-incoming.ts'
import { dismiss, writeAll } from './http2-write.ts'

/** Answers a request of HTTP/2 that is not gRPC, as the same one of HTTP/1.1 would be. */
export async function answerHttp2(
  stream: ServerHttp2Stream,
  incoming: Http2Incoming,
  { exchange, onError }: { readonly exchange: Exchange; readonly onError: (error: unknown) => void },
): Promise<void> {
  const { status, headers, body = '' } = await answer(exchange, incoming, onError)
  const head = { ':status': status, ...headers }
  if (typeof body === 'string') {
    if (stream.destroyed) return
    const sized = isBodiless(status) ? head : { ...head, 'content-length': Buffer.byteLength(body) }
    stream.respond(sized, { endStream: incoming.method === 'HEAD' || body === '' })
    stream.end(body)
  } else {
    if (!stream.destroyed) stream.respond(head, { endStream: incoming.method === 'HEAD' })
    await writeAll(stream, body[Symbol.asyncIterator]())
    stream.end()
  }
  dismiss(stream)
}

/** RFC 9110 §8.6: these have no `Content-Length`. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}
