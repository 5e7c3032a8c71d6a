import { maxHeaderSize, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Exchange, Outgoing } from '../http/exchange.ts'
import { securityHeaders } from '../http/security-headers.ts'
import { answerCutOff } from './cut-off-request.ts'

/** Milliseconds for which a refused caller that is still sending may go on, so that it gets round to its answer. */
const LINGER = 2_000

/** What Node says of a request that is none, or that we say of one. */
export interface Fault {
  readonly code?: string | undefined
  /** What came last. */
  readonly rawPacket?: Uint8Array
}

/** Answers what is not HTTP, so that it never becomes a request: Node itself would close without a word of JSON. */
export function createRefuser(exchange: Exchange, secure: boolean): (fault: Fault, socket: Duplex) => void {
  return async (fault, socket) => {
    if (socket.writableEnded) return
    const isTooLong = fault.code === 'HPE_HEADER_OVERFLOW'
    const unknown = isTooLong ? await answerCutOff(exchange, fault.rawPacket, secure) : undefined
    if (!socket.writable || isAnswering(socket)) {
      socket.destroy()
      return
    }
    socket.end(textOf(unknown ?? refusalOf(fault)))
    setTimeout(() => socket.destroy(), LINGER).unref()
  }
}

/** As an answer to a request that Node took for one. */
export function refusalOf({ code: kind = '' }: Fault): Outgoing & { readonly body: string } {
  const { code, message } = refusals[kind] ?? { code: 400, message: 'This is no request of HTTP/1.1.' }
  const body = JSON.stringify({ error: { code, message } })
  return { status: code, headers: { 'content-type': 'application/json' }, body }
}

function textOf({ status, headers, body = '' }: Outgoing): string {
  const text = typeof body === 'string' ? body : ''
  const all = { ...securityHeaders, ...headers, connection: 'close', 'content-length': `${Buffer.byteLength(text)}` }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n')
}

const refusals: Readonly<Record<string, { readonly code: number; readonly message: string }>> = {
  HPE_HEADER_OVERFLOW: { code: 431, message: `The headers are longer than ${maxHeaderSize} bytes.` },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { code: 413, message: 'The extensions of a chunk are too long.' },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 408, message: 'The request did not come in whole in time.' },
  OLD_TRANSFER_ENCODING: { code: 400, message: 'HTTP/1.0 has no Transfer-Encoding.' },
  OTHER_TRANSFER_ENCODING: { code: 501, message: 'The only Transfer-Encoding that is read here is chunked.' },
  OTHER_VERSION: { code: 505, message: 'This is neither HTTP/1.1 nor the beginning of HTTP/2.' },
  NOT_ONE_HOST: { code: 400, message: 'A request of HTTP/1.1 has exactly one Host header.' },
}

/** Whether an answer has begun on this connection, or one is awaited by a request that was whole: it would be taken for it. */
function isAnswering({ _httpMessage: answer }: Duplex & { readonly _httpMessage?: ServerResponse | null }): boolean {
  return answer?.headersSent === true || answer?.req.complete === true
}
