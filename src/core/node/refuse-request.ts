import type { ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { type Outgoing, securityHeaders } from '../http/exchange.ts'
import { http } from './http-module.ts'

/** The `WWW-Authenticate` header. Undefined if the server requires no credentials. */
export type Challenge = () => string | undefined

/** Why a request is invalid: a code of Node's HTTP parser, or one of `ambiguityIn`. */
export interface RequestFault {
  readonly code?: string | undefined
}

/** Answers invalid HTTP, which never becomes a request, with JSON. Node itself would close without a body. */
export function createRefuser(challenge: Challenge = () => undefined): (fault: RequestFault, socket: Duplex) => void {
  return (fault, socket) => {
    if (socket.writableEnded) return
    const response = responseOn(socket)
    if (!socket.writable || isAwaited(response)) {
      socket.destroy()
      return
    }
    // Without a response in progress, the head was too long, not the trailers of a chunked body.
    const required = fault.code === 'HPE_HEADER_OVERFLOW' && !response ? challenge() : undefined
    socket.end(serialize(required === undefined ? refusalOf(fault) : unauthenticated(required)))
    setTimeout(() => socket.destroy(), lingerTime).unref()
  }
}

/** The response to an invalid request. */
export function refusalOf({ code: reason = '' }: RequestFault): Outgoing & { readonly body: string } {
  const { code, message } = refusals[reason] ?? { code: 400, message: 'This is no request of HTTP/1.1.' }
  const body = JSON.stringify({ error: { code, message } })
  return { status: code, headers: { 'content-type': 'application/json' }, body }
}

const refusals: Readonly<Record<string, { readonly code: number; readonly message: string }>> = {
  HPE_HEADER_OVERFLOW: { code: 431, message: `The headers are longer than ${http.maxHeaderSize} bytes.` },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { code: 413, message: 'The extensions of a chunk are too long.' },
  ERR_HTTP_REQUEST_TIMEOUT: { code: 408, message: 'The request did not come in whole in time.' },
  OLD_TRANSFER_ENCODING: { code: 400, message: 'HTTP/1.0 has no Transfer-Encoding.' },
  OTHER_TRANSFER_ENCODING: { code: 501, message: 'The only Transfer-Encoding that is read here is chunked.' },
  OTHER_VERSION: { code: 505, message: 'This is neither HTTP/1.1 nor the beginning of HTTP/2.' },
  NOT_ONE_HOST: { code: 400, message: 'A request of HTTP/1.1 has exactly one Host header.' },
}

/** How long a refused caller may keep sending, so that it can read the response. In milliseconds. */
const lingerTime = 2_000

/** The response to the request that is being read or processed, if there is one. */
function responseOn({ _httpMessage: response }: Duplex & { readonly _httpMessage?: ServerResponse | null }) {
  return response ?? undefined
}

/**
 * Whether a response has started on this connection, or a complete request waits for one. The caller would take ours for
 * it.
 */
function isAwaited(response: ServerResponse | undefined): boolean {
  return response?.headersSent === true || response?.req.complete === true
}

function serialize({ status, headers, body = '' }: Outgoing): string {
  const text = typeof body === 'string' ? body : ''
  const all = { ...securityHeaders, ...headers, connection: 'close', 'content-length': `${Buffer.byteLength(text)}` }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${http.STATUS_CODES[status]}`, ...lines, '', text].join('\r\n')
}

/** A request whose headers could not be read has no credentials. */
function unauthenticated(challenge: string): Outgoing {
  const message = `The headers are longer than ${http.maxHeaderSize} bytes: no credentials could be read.`
  const body = JSON.stringify({ error: { code: 401, status: 'UNAUTHENTICATED', message } })
  return { status: 401, headers: { 'content-type': 'application/json', 'www-authenticate': challenge }, body }
}
