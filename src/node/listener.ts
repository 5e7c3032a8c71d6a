import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type Exchange, internalError, type Outgoing, runExchange } from '../http/exchange.ts'
import type { Load } from '../http/load.ts'
import { withSecurityHeaders } from '../http/response-headers.ts'
import { NodeIncoming } from './incoming.ts'

/** Milliseconds for which a caller that is still sending may go on, so that it gets round to reading its answer. */
const LINGER = 1_000

export interface ListenerOptions {
  /** Told what an exchange or its stream threw; the caller is not. */
  readonly onError?: (error: unknown) => void
  /** Counts what is at work. */
  readonly load?: Load | undefined
  /** Milliseconds for which a caller may take nothing of what was written to it. Without end unless said. */
  readonly unreadTimeout?: number
}

/** Serves an exchange from `node:http`, alone or mounted in Express. */
export function toListener(
  exchange: Exchange,
  { onError = console.error, load, unreadTimeout }: ListenerOptions = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  return async (request, response) => {
    const incoming = new NodeIncoming(request, response, load)
    load?.begin()
    try {
      await send(response, await runExchange(exchange, incoming, onError), unreadTimeout)
    } catch (error) {
      if (response.closed) return
      onError(error)
      // Breaks off after what was written, without the mark of an end: nobody must take this answer for complete.
      if (response.headersSent) response.socket?.destroySoon()
      else await send(response, internalError)
    } finally {
      load?.end(incoming.taken)
    }
  }
}

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
  const safe = withSecurityHeaders(headers, req.method, req.headers['content-type'])
  const sized = isBodiless(status) ? safe : { ...safe, 'content-length': Buffer.byteLength(text) }
  if (response.req.complete) {
    response.writeHead(status, sized).end(text)
    cutSlowReader(response.socket, unreadTimeout)
    return
  }
  // RFC 9112 §9.6: closing while the caller still sends would reset the connection, and may take the answer with it.
  response.writeHead(status, { ...sized, connection: 'close' }).flushHeaders()
  response.write(text)
  await drain(response.req)
  response.end()
  cutSlowReader(response.socket, unreadTimeout)
}

/** RFC 9110 §8.6: these have no `Content-Length`. */
function isBodiless(status: number): boolean {
  return status === 204 || status === 304
}

/**
 * Cuts off a caller that takes nothing, for so many milliseconds, of what was written to it: its answer would be held in
 * memory for as long as it likes. Most answers have gone out by now, and have no timer.
 */
function cutSlowReader(socket: Socket | null, timeout: number | undefined): void {
  // Node destroys a socket of HTTP whose time is up; what is read meanwhile starts it anew.
  if (timeout !== undefined && socket && socket.writableLength > 0) socket.setTimeout(timeout)
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

function send(response: ServerResponse, outgoing: Outgoing, unreadTimeout?: number): Promise<void> {
  const { body = '' } = outgoing
  return typeof body === 'string'
    ? sendText(response, outgoing, body, unreadTimeout)
    : sendStream(response, outgoing, body, unreadTimeout)
}

/** Sends a stream as fast as the caller reads it, and releases its source when the caller has gone. */
async function sendStream(
  response: ServerResponse,
  { status, headers }: Pick<Outgoing, 'status' | 'headers'>,
  source: AsyncIterable<string>,
  unreadTimeout?: number,
): Promise<void> {
  const iterator = source[Symbol.asyncIterator]()
  // Not awaited: a generator that waits for its next item takes its `return` only after that.
  const release = (): void => {
    iterator.return?.().catch(() => {})
  }
  if (response.closed) return release()
  response.once('close', release)
  const { req } = response
  response.writeHead(status, withSecurityHeaders(headers, req.method, req.headers['content-type']))
  if (req.method !== 'HEAD') {
    response.flushHeaders()
    await pump(iterator, response, unreadTimeout)
  }
  response.end()
}

async function pump(iterator: AsyncIterator<string>, response: ServerResponse, timeout?: number): Promise<void> {
  for (;;) {
    const { done, value } = await iterator.next()
    if (done || response.closed) return
    if (!response.write(value)) await drained(response, timeout)
  }
}

/** Resolves when there is room again, or nobody to have room for. */
function drained(response: ServerResponse, timeout: number | undefined): Promise<void> {
  return new Promise((resolve) => {
    const { socket } = response
    const finish = (): void => {
      mayRest(socket, timeout)
      response.off('drain', finish)
      response.off('close', finish)
      resolve()
    }
    cutSlowReader(socket, timeout)
    response.once('drain', finish)
    response.once('close', finish)
  })
}

/** All is read, and there may be nothing more to read for a long time. */
function mayRest(socket: Socket | null, timeout: number | undefined): void {
  if (timeout !== undefined) socket?.setTimeout(0)
}
