import type { ServerResponse } from 'node:http'
import type { Outgoing } from '../http/exchange.ts'
import { secured } from '../http/security-headers.ts'
import { mayRest, mustRead } from './unread.ts'

/** Sends a stream as fast as the caller reads it, and releases its source when the caller has gone. */
export async function sendStream(
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
  response.writeHead(status, secured(headers, req.method, req.headers['content-type']))
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
    mustRead(socket, timeout)
    response.once('drain', finish)
    response.once('close', finish)
  })
}
