import type { IncomingMessage, ServerResponse } from 'node:http'
import { answer, internalError } from '../http/answer.ts'
import type { Exchange, Outgoing } from '../http/exchange.ts'
import { NodeIncoming } from './incoming.ts'
import { sendStream } from './send-stream.ts'
import { sendText } from './send-text.ts'

export interface ListenerOptions {
  /** Told what an exchange or its stream threw; the caller is not. */
  readonly onError?: (error: unknown) => void
}

/** Serves an exchange from `node:http`, alone or mounted in Express. */
export function toListener(
  exchange: Exchange,
  { onError = console.error }: ListenerOptions = {},
): (request: IncomingMessage, response: ServerResponse) => void {
  return async (request, response) => {
    try {
      await send(response, await answer(exchange, new NodeIncoming(request, response), onError))
    } catch (error) {
      if (response.closed) return
      onError(error)
      // Breaks off after what was written, without the mark of an end: nobody must take this answer for complete.
      if (response.headersSent) response.socket?.destroySoon()
      else await send(response, internalError)
    }
  }
}

function send(response: ServerResponse, outgoing: Outgoing): Promise<void> {
  const { body = '' } = outgoing
  return typeof body === 'string' ? sendText(response, outgoing, body) : sendStream(response, outgoing, body)
}
