import { maxHeaderSize, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** Milliseconds for which a refused caller that is still sending may go on, so that it gets round to its answer. */
const LINGER = 2_000

/** Answers what is not HTTP, so that it never becomes a request: Node itself would close without a word of JSON. */
export function refuse(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (socket.writableEnded) return
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy()
    return
  }
  const { code, message } = refusals[error.code ?? ''] ?? { code: 400, message: 'This is no request of HTTP/1.1.' }
  const body = JSON.stringify({ error: { code, message } })
  const head = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code]}`,
    'connection: close',
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(body)}`,
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  setTimeout(() => socket.destroy(), LINGER).unref()
}

const refusals: Readonly<Record<string, { readonly code: number; readonly message: string }>> = {
  HPE_HEADER_OVERFLOW: { code: 431, message: `The headers are longer than ${maxHeaderSize} bytes.` },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { code: 413, message: 'The extensions of a chunk are too long.' },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 408, message: 'The request did not come in whole in time.' },
}

/** Whether an answer has begun on this connection: words of another one would get into it. */
function isAnswering(socket: Duplex & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return socket._httpMessage?.headersSent === true
}
