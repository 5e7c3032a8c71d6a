import { type ClientRequest, type IncomingMessage, request as plainRequest } from 'node:http'
import { request as tlsRequest } from 'node:https'
import type { Socket } from 'node:net'
import { BoundedMap } from '../../base/bounded-map.ts'
import { type Guard, hostOf, RequestRefused } from '../../http/address-guard.ts'
import { redirectStatuses } from '../../http/redirect.ts'
import {
  type GuardLimits,
  isConnectionHeader,
  parseUrl,
  portOf,
  type Sender,
  serverNameOf,
  startTimer,
  TimeLimitExceeded,
} from './send.ts'

/** Number of URLs whose parts are remembered. */
const maxTargets = 1_000

/** Limits for reading a response body, which is discarded; reading it lets the connection be reused. */
const bodyLimit = { bytes: 16 * 1024, milliseconds: 500 }

/** A `POST` whose response body does not matter. */
export interface PostRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** The head of a response. */
export interface PostResponse {
  readonly status: number
  readonly retryAfter: string | undefined
  /** Resolves when the body was discarded. It never rejects. */
  readonly discarded: Promise<void>
}

export interface SentPost {
  readonly response: Promise<PostResponse>
  /** Ends the request. If there is no response yet, it rejects with the reason. */
  abort(reason: Error): void
}

/**
 * Sends a `POST` as the guarded fetch does, with the same checks, but without the objects of `fetch`: they cost more than
 * the request itself. Redirects are refused.
 */
export type SendPost = (request: PostRequest) => SentPost

export interface SendPostOptions {
  readonly targets: Targets
  readonly sender: Sender
  readonly limits: Required<GuardLimits>
}

export function createSendPost({ targets, sender, limits }: SendPostOptions): SendPost {
  const total = Math.min(limits.totalTimeout, limits.headersTimeout)

  function open({ headers, body }: PostRequest, { isTls, authority, host, port, path }: Target): ClientRequest {
    const { lines, isAscii } = headerLines(headers, authority, Buffer.byteLength(body))
    const options = { host, port, path, method: 'POST', headers: lines, lookup: sender.lookup }
    const request = isTls
      ? tlsRequest({ ...options, agent: sender.tls, servername: serverNameOf(host) })
      : plainRequest({ ...options, agent: sender.plain })
    // Node writes a text together with the head, as UTF-8; other headers are latin1.
    request.end(isAscii ? body : Buffer.from(body))
    return request
  }

  return (post) => {
    const { promise: response, resolve, reject } = Promise.withResolvers<PostResponse>()
    let request: ClientRequest
    let target: Target
    try {
      target = targets.open(post.url)
      request = open(post, target)
    } catch (error) {
      reject(error)
      return { response, abort() {} }
    }
    let isSettled = false
    let clearConnect = () => {}
    const clearTotal = startTimer(total, () => request.destroy(new TimeLimitExceeded('total', total)))
    const settle = () => {
      isSettled = true
      clearConnect()
      clearTotal()
    }
    request.once('socket', (socket) => {
      if (!isSettled) clearConnect = limitConnect(request, socket, target.isTls, limits.connectTimeout)
    })
    request.once('response', (message) => {
      settle()
      const problem = problemOf(message, target)
      if (problem) {
        message.destroy()
        return reject(problem)
      }
      const { statusCode: status = 0 } = message
      // Node parses the headers when they are read.
      const retryAfter = status >= 300 ? message.headers['retry-after'] : undefined
      resolve({ status, retryAfter, discarded: discardBody(message) })
    })
    request.on('error', (error) => {
      settle()
      reject(error)
    })
    request.once('close', () => {
      if (isSettled) return
      settle()
      reject(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }))
    })
    return {
      response,
      abort(reason) {
        reject(reason)
        // Without the reason: the error of a socket whose response is being discarded may have no listener.
        request.destroy()
      },
    }
  }
}

/** The destination of a request that the guard allows. */
export interface Target {
  readonly isTls: boolean
  readonly host: string
  readonly port: number
  readonly path: string
  /** Host and port as the URL names them. */
  readonly authority: string
}

/** Parses and checks URLs. */
export interface Targets {
  /** Throws if the guard refuses the URL. */
  check(address: string): Target
  /** The same, and remembers the target. */
  open(address: string): Target
}

/**
 * A target that was checked stays allowed, because the guard decides about a URL by its text alone. The addresses of a host
 * name are not remembered: the lookup of each connection checks them.
 */
export function createTargets(guard: Guard): Targets {
  const targets = new BoundedMap<string, Target>(maxTargets)

  function check(address: string): Target {
    const cached = targets.get(address)
    if (cached) return cached
    const url = parseUrl(address)
    guard.checkUrl(url)
    const isTls = url.protocol === 'https:'
    const path = `${url.pathname}${url.search}`
    return { isTls, host: hostOf(url), port: portOf(url), path, authority: url.host }
  }

  return {
    check,
    open(address) {
      const target = check(address)
      targets.set(address, target)
      return target
    },
  }
}

const printable = /^[\t\x20-\x7e]*$/

/** Names and values in turn, as Node takes them without building an object. It checks them. */
function headerLines(headers: PostRequest['headers'], authority: string, length: number) {
  const lines = ['host', authority]
  let isAscii = true
  const isLowerCase = Object.keys(headers).every((name) => name === name.toLowerCase())
  // Names that differ only in case are one header.
  const unique = isLowerCase ? headers : Object.fromEntries(new Headers(headers))
  for (const [name, value] of Object.entries(unique)) {
    if (isConnectionHeader(name)) continue
    if (!printable.test(value)) isAscii = false
    lines.push(name, value)
  }
  lines.push('accept', '*/*', 'accept-encoding', 'identity', 'content-length', `${length}`)
  return { lines, isAscii }
}

function limitConnect(request: ClientRequest, socket: Socket, isTls: boolean, milliseconds: number): () => void {
  // A reused connection is open already.
  if (!socket.connecting) return () => {}
  const clear = startTimer(milliseconds, () => request.destroy(new TimeLimitExceeded('connect', milliseconds)))
  socket.once(isTls ? 'secureConnect' : 'connect', clear)
  return clear
}

/** Why a response is none; undefined if it is one. */
function problemOf(message: IncomingMessage, { authority }: Target): Error | undefined {
  const { statusCode = 0 } = message
  if (statusCode < 200 || statusCode > 599) {
    return Object.assign(new Error('the head of the answer is none of HTTP'), { code: 'HPE_HEAD' })
  }
  if (!redirectStatuses.has(statusCode) || message.headers.location === undefined) return undefined
  return new RequestRefused('redirect', `${authority} redirects, which is not followed here`)
}

function discardBody(message: IncomingMessage): Promise<void> {
  return new Promise((resolve) => {
    let bytes = 0
    const timer = setTimeout(() => message.destroy(), bodyLimit.milliseconds)
    const end = () => {
      clearTimeout(timer)
      resolve()
    }
    message.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > bodyLimit.bytes) message.destroy()
    })
    message.once('end', end)
    message.once('close', end)
    message.on('error', end)
  })
}
