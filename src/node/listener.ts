import type { IncomingMessage, ServerResponse } from 'node:http'
import { answer, internalError } from '../http/answer.ts'
import type { Exchange, Outgoing } from '../http/exchange.ts'
import type { Load } from '../http/load.ts'
import { NodeIncoming } from './incoming.ts'
import { sendStream } from './send-stream.ts'
import { sendText } from './send-text.ts'

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
      await send(response, await answer(exchange, incoming, onError), unreadTimeout)
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

function send(response: ServerResponse, outgoing: Outgoing, unreadTimeout?: number): Promise<void> {
  const { body = '' } = outgoing
  return typeof body === 'string'
    ? sendText(response, outgoing, body, unreadTimeout)
    : sendStream(response, outgoing, body, unreadTimeout)
}
