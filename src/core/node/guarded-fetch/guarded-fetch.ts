import { type IncomingMessage, Agent as PlainAgent } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import { isIP } from 'node:net'
import type { SecureContextOptions } from 'node:tls'
import {
  aFunction,
  anObject,
  checkOptions,
  flag,
  integer,
  isAbove,
  listOf,
  milliseconds,
  type OptionChecks,
  oneOf,
  text,
} from '../../base/options.ts'
import { createGuard, type GuardOptions, RequestRefused } from '../../http/address-guard.ts'
import { type Hop, nextHop, redirectStatuses } from '../../http/redirect.ts'
import { pinnedLookup, type Resolve, systemResolve } from './pinned-lookup.ts'
import { createSendPost, createTargets, type SendPost } from './post.ts'
import {
  createResponseBody,
  type GuardLimits,
  limitsOf,
  type ResponseBodyOptions,
  readRequest,
  sendHop,
  startTimer,
  TimeLimitExceeded,
} from './send.ts'

/** Options of `createGuardedFetch`. */
export interface GuardedFetchOptions extends GuardOptions, GuardLimits {
  /** How many redirects to follow. Defaults to 5. 0 rejects them, which suits webhooks. */
  readonly redirects?: number
  /** Rejects redirects that turn a `POST` into a `GET` (301, 302, 303): the body would be lost and yet seem delivered. */
  readonly keepMethod?: boolean
  /** The client certificate (mutual TLS), and authorities to trust besides those of the system. */
  readonly tls?: Pick<SecureContextOptions, 'cert' | 'key' | 'pfx' | 'passphrase' | 'ca'>
  /** Defaults to the resolver of the system. */
  readonly resolve?: Resolve
}

export const guardedFetchChecks: OptionChecks<GuardedFetchOptions> = {
  schemes: listOf(oneOf('https', 'http')),
  allow: listOf(text),
  loopback: oneOf('allow', 'refuse'),
  connectTimeout: milliseconds(),
  headersTimeout: milliseconds(),
  idleTimeout: milliseconds(),
  totalTimeout: milliseconds(),
  maxBytes: isAbove(0),
  redirects: integer(),
  keepMethod: flag,
  tls: anObject,
  resolve: aFunction,
}

/** A `fetch` for addresses from untrusted sources. */
export interface GuardedFetch {
  (url: string | URL, init?: RequestInit): Promise<Response>
  /** Rejects if the URL, or an address of its host, is not allowed. Sends nothing. */
  check(url: string | URL): Promise<void>
  /** Closes the connections that are kept open. */
  close(): void
  /**
   * Sends a `POST` and discards the body of its response, for less than half of the CPU time of a call. Undefined if
   * redirects may be followed. Not enumerable, so that a wrapper does not inherit it by `Object.assign`.
   */
  readonly post?: SendPost
}

/**
 * Creates a `fetch` that calls only public addresses, and others that `allow` lists. It checks every address, also
 * after redirects, looks up names once per connection, and limits the size and duration of responses.
 *
 * @example
 * const fetch = createGuardedFetch({ allow: ['10.0.0.0/8'] })
 * const client = await connect('https://agent.internal.example.com', { fetch })
 */
export function createGuardedFetch(options: GuardedFetchOptions = {}): GuardedFetch {
  checkOptions('createGuardedFetch', options, guardedFetchChecks)
  const { redirects = 5, resolve = systemResolve, tls = {} } = options
  const guard = createGuard(options)
  const agentOptions = { keepAlive: true, maxFreeSockets: 64, timeout: 4_000 }
  const sender = {
    plain: new PlainAgent(agentOptions),
    tls: new TlsAgent({ ...agentOptions, ...tls }),
    lookup: pinnedLookup(guard, resolve),
  }

  const targets = createTargets(guard)

  async function guardedFetch(address: string | URL, init: RequestInit = {}): Promise<Response> {
    const { hop: first, signal, redirect } = await readRequest(address, init)
    const limits = limitsOf(options, first.headers.get('accept')?.includes('text/event-stream') ?? false)
    const aborter = new AbortController()
    const abort = () => aborter.abort(signal?.reason)
    const clearTotal = startTimer(limits.totalTimeout, () =>
      aborter.abort(new TimeLimitExceeded('total', limits.totalTimeout)),
    )
    signal?.addEventListener('abort', abort)
    if (signal?.aborted) abort()
    const release = () => {
      clearTotal()
      signal?.removeEventListener('abort', abort)
    }
    const errorOf = (error: unknown) => (aborter.signal.aborted ? aborter.signal.reason : error)
    try {
      let hop = first
      for (let followed = 0; ; followed++) {
        aborter.signal.throwIfAborted()
        guard.checkUrl(hop.url)
        const message = await sendHop(hop, sender, limits, aborter.signal)
        const next = redirect === 'manual' ? undefined : redirectOf(hop, message)
        if (!next) {
          const properties = { url: { value: hop.url.href }, redirected: { value: followed > 0 } }
          return Object.defineProperties(toResponse(message, hop, { ...limits, release, errorOf }), properties)
        }
        message.destroy()
        if (redirect === 'error' || redirects === 0) {
          throw new RequestRefused('redirect', `${hop.url.host} redirects, which is not followed here`)
        }
        if (followed === redirects) throw new Error(`too many redirects: more than ${redirects}`)
        if (options.keepMethod && next.method !== hop.method) {
          throw new RequestRefused(
            'redirect',
            `${hop.url.host} redirects by ${message.statusCode}, which drops the body`,
          )
        }
        hop = next
      }
    } catch (error) {
      release()
      throw errorOf(error)
    }
  }

  const fetch: GuardedFetch = Object.assign(guardedFetch, {
    async check(address: string | URL) {
      const { host } = targets.check(`${address}`)
      if (isIP(host) === 0) for (const { address } of await resolve(host)) guard.checkAddress(host, address)
    },
    close() {
      sender.plain.destroy()
      sender.tls.destroy()
    },
  })
  if (redirects > 0) return fetch
  return Object.defineProperty(fetch, 'post', {
    value: createSendPost({ targets, sender, limits: limitsOf(options, false) }),
  })
}

function redirectOf(hop: Hop, { statusCode = 0, headers: { location } }: IncomingMessage): Hop | undefined {
  return location !== undefined && redirectStatuses.has(statusCode) ? nextHop(hop, statusCode, location) : undefined
}

const bodiless: ReadonlySet<number> = new Set([204, 205, 304])

function toResponse(message: IncomingMessage, { method }: Hop, options: ResponseBodyOptions): Response {
  const { statusCode: status = 0, statusMessage: statusText = '', rawHeaders } = message
  const headers = new Headers()
  try {
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(`${rawHeaders[at]}`, `${rawHeaders[at + 1]}`)
    if (method !== 'HEAD' && !bodiless.has(status)) {
      return new Response(createResponseBody(message, options), { status, statusText, headers })
    }
    message.resume()
    options.release()
    return new Response(null, { status, statusText, headers })
  } catch (error) {
    message.destroy()
    throw Object.assign(new Error('the head of the answer is none of HTTP', { cause: error }), { code: 'HPE_HEAD' })
  }
}
