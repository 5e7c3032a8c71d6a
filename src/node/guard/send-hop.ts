import { type ClientRequest, type IncomingMessage, type Agent as PlainAgent, request as plainRequest } from 'node:http'
import { type Agent as TlsAgent, request as tlsRequest } from 'node:https'
import type { LookupFunction } from 'node:net'
import { hostOf } from '../../http/guard/guard.ts'
import type { Hop } from '../../http/guard/redirect.ts'
import { Exceeded } from './exceeded.ts'
import { after, type GuardLimits } from './limits.ts'

export interface Sender {
  readonly plain: PlainAgent
  readonly tls: TlsAgent
  readonly lookup: LookupFunction
}

/** Sends one request and gives the head of its answer; what has to be followed from it is somebody else's business. */
export function sendHop(
  hop: Hop,
  { plain, tls, lookup }: Sender,
  { connectTimeout, headersTimeout }: Required<GuardLimits>,
  signal: AbortSignal | undefined,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { url, method, headers, body } = hop
    const isTls = url.protocol === 'https:'
    const options = {
      host: hostOf(url),
      port: url.port === '' ? (isTls ? 443 : 80) : Number(url.port),
      path: `${url.pathname}${url.search}`,
      method,
      headers: { host: url.host, ...Object.fromEntries(headers), ...lengthOf(body, method) },
      lookup,
      ...(signal && { signal }),
    }
    const request = isTls
      ? tlsRequest({ ...options, agent: tls, servername: serverNameOf(options.host) })
      : plainRequest({ ...options, agent: plain })
    const clearConnect = limitConnect(request, connectTimeout, isTls)
    const clearHeaders = after(headersTimeout, () => request.destroy(new Exceeded('headers', headersTimeout)))
    const settle = () => {
      clearConnect()
      clearHeaders()
    }
    request.once('response', (answer) => {
      settle()
      resolve(answer)
    })
    request.once('upgrade', (_, socket) => socket.destroy())
    request.on('error', (error) => {
      settle()
      reject(error)
    })
    request.once('close', () => {
      settle()
      reject(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }))
    })
    request.end(body)
  })
}

function limitConnect(request: ClientRequest, milliseconds: number, isTls: boolean): () => void {
  const clear = after(milliseconds, () => request.destroy(new Exceeded('connect', milliseconds)))
  request.once('socket', (socket) => {
    // A connection that is used again is there already.
    if (socket.connecting) socket.once(isTls ? 'secureConnect' : 'connect', clear)
    else clear()
  })
  return clear
}

function lengthOf(body: Uint8Array | undefined, method: string): Record<string, string> {
  if (body) return { 'content-length': `${body.length}` }
  return method === 'GET' || method === 'HEAD' ? {} : { 'content-length': '0' }
}

/** Names only: RFC 6066 §3 has none for addresses. */
function serverNameOf(host: string): string {
  return /^[\d.]+$|:/.test(host) ? '' : host
}
