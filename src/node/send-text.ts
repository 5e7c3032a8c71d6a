import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Outgoing } from '../http/exchange.ts'
import { secured } from '../http/security-headers.ts'
import { mustRead } from './unread.ts'

/** Milliseconds for which a caller that is still sending may go on, so that it gets round to reading its answer. */
const LINGER = 1_000

/** Sends a whole answer, with its length, in one write. */
export async function sendText(
  response: ServerResponse,
  { status, headers }: Pick<Outgoing, 'status' | 'headers'>,
  text: string,
  unreadTimeout?: number,
): Promise<void> {
  // Whoever answers without reading the body is faster than the body, which may all be here already.
  if (!response.req.complete) await new Promise(setImmediate)
  if (response.closed) return
  const { req } = response
  const safe = secured(headers, req.method, req.headers['content-type'])
  const sized = isBodiless(status) ? safe : { ...safe, 'content-length': Buffer.byteLength(text) }
  if (response.req.complete) {
    response.writeHead(status, sized).end(text)
    mustRead(response.socket, unreadTimeout)
    return
  }
  // RFC 9112 §9.6: closing while the caller still sends would reset the connection, and may take the answer with it.
  response.writeHead(status, { ...sized, connection: 'close' }).flushHeaders()
  response.write(text)
  await drain(response.req)
  response.end()
  mustRead(response.socket, unreadTimeout)
}

/** RFC 9110 §8.6: these have no `Content-Length`. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

/** Lets the rest of a body pass, unread. */
function drain(request: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    const finish = (): void => {
      clearTimeout(timer)
      resolve()
    }
    const timer = setTimeout(finish, LINGER)
    request.once('close', finish)
    request.resume()
  })
}
