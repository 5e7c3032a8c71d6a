import { type IncomingMessage, Agent as PlainAgent } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import type { SecureContextOptions } from 'node:tls'
import { createGuard, type GuardOptions, hostOf, parseAddress, RequestRefused } from '../../http/address-guard.ts'
import { type Hop, nextHop, redirectStatuses } from '../../http/redirect.ts'
import { pinnedLookup, type Resolve, systemResolve } from './pinned-lookup.ts'
import {
  type AnswerBodyOptions,
  after,
  answerBody,
  Exceeded,
  type GuardLimits,
  limitsOf,
  readRequest,
  sendHop,
} from './send.ts'

const bodyless: ReadonlySet<number> = new Set([204, 205, 304])

export interface Warner {
  warn(fields: object, message: string): void
}

export interface GuardedFetchOptions extends Omit<GuardOptions, 'warn'>, GuardLimits {
  /** How many redirects are followed. 5 by default; 0 refuses them, as webhooks should. */
  readonly redirects?: number
  /** Refuses redirects by which a `POST` becomes a `GET` (301, 302, 303): what was sent would be lost, and seem received. */
  readonly keepMethod?: boolean
  /** Who we are to servers that ask (mutual TLS), and whom we trust besides the authorities of the system. */
  readonly tls?: Pick<SecureContextOptions, 'cert' | 'key' | 'pfx' | 'passphrase' | 'ca'>
  readonly logger?: Warner
  /** The resolver of the system by default. */
  readonly resolve?: Resolve
}

/** As `fetch`, for addresses that somebody else chose. */
export interface GuardedFetch {
  (url: string | URL, init?: RequestInit): Promise<Response>
  /** Rejects if the address, or where its name leads, may not be asked. Nothing is sent. */
  check(url: string | URL): Promise<void>
  /** Ends the connections that are kept open. */
  close(): void
}

/**
 * A `fetch` that only goes out into the public internet, or where it is allowed to: each address is checked, also after
 * redirects, names are looked up once for each connection, and what is read has limits.
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  const { redirects = 5, resolve = systemResolve, tls = {} } = options
  const guard = createGuard({
    loopback: loopbackHere(),
    ...options,
    warn: (host) => warnOfLoopback(host, options.logger),
  })
  const keep = { keepAlive: true, maxFreeSockets: 64, timeout: 4_000 }
  const sender = {
    plain: new PlainAgent(keep),
    tls: new TlsAgent({ ...keep, ...tls }),
    lookup: pinnedLookup(guard, resolve),
  }

  async function guarded(address: string | URL, init: RequestInit = {}): Promise<Response> {
    const { hop: first, signal, redirect } = await readRequest(address, init)
    const limits = limitsOf(options, first.headers.get('accept')?.includes('text/event-stream') ?? false)
    const leaving = new AbortController()
    const leave = () => leaving.abort(signal?.reason)
    const clearTotal = after(limits.totalTimeout, () => leaving.abort(new Exceeded('total', limits.totalTimeout)))
    signal?.addEventListener('abort', leave)
    if (signal?.aborted) leave()
    const release = () => {
      clearTotal()
      signal?.removeEventListener('abort', leave)
    }
    const reason = (error: unknown) => (leaving.signal.aborted ? leaving.signal.reason : error)
    try {
      let hop = first
      for (let followed = 0; ; followed++) {
        leaving.signal.throwIfAborted()
        guard.checkUrl(hop.url)
        const answer = await sendHop(hop, sender, limits, leaving.signal)
        const next = redirect === 'manual' ? undefined : locationOf(hop, answer)
        if (!next) {
          const describe = { url: { value: hop.url.href }, redirected: { value: followed > 0 } }
          return Object.defineProperties(toResponse(answer, hop, { ...limits, release, reason }), describe)
        }
        answer.destroy()
        if (redirect === 'error' || redirects === 0) {
          throw new RequestRefused('redirect', `${hop.url.host} redirects, which is not followed here`)
        }
        if (followed === redirects) throw new Error(`too many redirects: more than ${redirects}`)
        if (options.keepMethod && next.method !== hop.method) {
          throw new RequestRefused(
            'redirect',
            `${hop.url.host} redirects by ${answer.statusCode}, which drops the body`,
          )
        }
        hop = next
      }
    } catch (error) {
      release()
      throw reason(error)
    }
  }

  return Object.assign(guarded, {
    async check(address: string | URL) {
      if (!URL.canParse(`${address}`)) throw new RequestRefused('bad-url', 'what is to be asked is no address')
      const url = new URL(address)
      guard.checkUrl(url)
      const host = hostOf(url)
      if (!parseAddress(host)) for (const found of await resolve(host)) guard.checkAddress(host, found.address)
    },
    close() {
      sender.plain.destroy()
      sender.tls.destroy()
    },
  })
}

/** Programs that are not in production often ask their own machine. */
export function loopbackHere(): 'warn' | 'refuse' {
  return process.env.NODE_ENV === 'production' ? 'refuse' : 'warn'
}

export function warnOfLoopback(host: string, logger: Warner = { warn: (_, message) => console.warn(message) }): void {
  const message = `${host} is on this machine, which may be asked only in development (NODE_ENV is not production).`
  logger.warn({ host }, `${message} Set loopback to 'allow' or 'refuse' to say what is meant.`)
}

function locationOf(hop: Hop, { statusCode = 0, headers: { location } }: IncomingMessage): Hop | undefined {
  return location !== undefined && redirectStatuses.has(statusCode) ? nextHop(hop, statusCode, location) : undefined
}

function toResponse(answer: IncomingMessage, { method }: Hop, options: AnswerBodyOptions): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = answer
  const headers = new Headers()
  try {
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(`${rawHeaders[at]}`, `${rawHeaders[at + 1]}`)
    if (method !== 'HEAD' && !bodyless.has(status)) {
      return new Response(answerBody(answer, options), { status, statusText, headers })
    }
    answer.resume()
    options.release()
    return new Response(null, { status, statusText, headers })
  } catch (error) {
    answer.destroy()
    throw Object.assign(new Error('the head of the answer is none of HTTP', { cause: error }), { code: 'HPE_HEAD' })
  }
}
