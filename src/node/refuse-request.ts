import { type IncomingMessage, maxHeaderSize, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Outgoing } from '../http/exchange.ts'
import { securityHeaders } from '../http/response-headers.ts'

/** Milliseconds for which a refused caller that is still sending may go on, so that it gets round to its answer. */
const LINGER = 2_000

/** What callers are asked for, as `WWW-Authenticate`. Undefined where nobody is asked. */
export type Challenge = () => string | undefined

/** What Node says of a request that is none, or that we say of one. */
export interface Fault {
  readonly code?: string | undefined
}

/** Answers what is not HTTP, so that it never becomes a request: Node itself would close without a word of JSON. */
export function createRefuser(challenge: Challenge = () => undefined): (fault: Fault, socket: Duplex) => void {
  return (fault, socket) => {
    if (socket.writableEnded) return
    const answer = answerOn(socket)
    if (!socket.writable || isAwaited(answer)) {
      socket.destroy()
      return
    }
    // While there is no answer to be made, it is the head that did not fit, and not what follows the chunks of a body.
    const asked = fault.code === 'HPE_HEADER_OVERFLOW' && !answer ? challenge() : undefined
    socket.end(textOf(asked === undefined ? refusalOf(fault) : unread(asked)))
    setTimeout(() => socket.destroy(), LINGER).unref()
  }
}

/**
 * What is wrong with a request that Node takes for one: whatever a proxy in front of us may have understood in another
 * way. RFC 9112 §3.2 (one `Host`), §6.1 (no coding that we do not know, none in HTTP/1.0), §2.3 (no other version).
 */
export function ambiguityIn({ rawHeaders, httpVersionMajor, httpVersionMinor }: IncomingMessage): Fault | undefined {
  let hosts = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
    else if (name.length === 17 && name.toLowerCase() === 'transfer-encoding') {
      if (httpVersionMinor === 0) return { code: 'OLD_TRANSFER_ENCODING' }
      if (rawHeaders[at + 1]?.toLowerCase() !== 'chunked') return { code: 'OTHER_TRANSFER_ENCODING' }
    }
  }
  if (httpVersionMajor !== 1) return { code: 'OTHER_VERSION' }
  return hosts === 1 || (hosts === 0 && httpVersionMinor === 0) ? undefined : { code: 'NOT_ONE_HOST' }
}

/** As an answer to a request that Node took for one. */
export function refusalOf({ code: kind = '' }: Fault): Outgoing & { readonly body: string } {
  const { code, message } = refusals[kind] ?? { code: 400, message: 'This is no request of HTTP/1.1.' }
  const body = JSON.stringify({ error: { code, message } })
  return { status: code, headers: { 'content-type': 'application/json' }, body }
}

/** The answer to the request that is being read or worked on, if there is one. */
function answerOn({ _httpMessage: answer }: Duplex & { readonly _httpMessage?: ServerResponse | null }) {
  return answer ?? undefined
}

/** Whether an answer has begun on this connection, or one is awaited by a request that was whole: ours would be taken for it. */
function isAwaited(answer: ServerResponse | undefined): boolean {
  return answer?.headersSent === true || answer?.req.complete === true
}

function textOf({ status, headers, body = '' }: Outgoing): string {
  const text = typeof body === 'string' ? body : ''
  const all = { ...securityHeaders, ...headers, connection: 'close', 'content-length': `${Buffer.byteLength(text)}` }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', text].join('\r\n')
}

/** A request whose head could not be read is nobody's. */
function unread(challenge: string): Outgoing {
  const message = `The headers are longer than ${maxHeaderSize} bytes: no credentials could be read.`
  const body = JSON.stringify({ error: { code: 401, status: 'UNAUTHENTICATED', message } })
  return { status: 401, headers: { 'content-type': 'application/json', 'www-authenticate': challenge }, body }
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
