import { RequestRefused } from './address-guard.ts'

const bodyHeaders = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location']

export const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** One request in a chain of redirects. */
export interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: Uint8Array | undefined
}

/**
 * The request that follows a redirect (Fetch §4.4), but stricter: no downgrade to http, no unknown header to another
 * origin.
 */
export function nextHop(hop: Hop, status: number, location: string): Hop {
  const { url: from } = hop
  if (!URL.canParse(location, from.href)) {
    throw new RequestRefused('bad-url', `${from.host} redirects to an invalid address`)
  }
  const url = new URL(location, from.href)
  if (from.protocol === 'https:' && url.protocol === 'http:') {
    throw new RequestRefused('downgrade', `${from.host} redirects from https to http`)
  }
  const isRead = hop.method === 'GET' || hop.method === 'HEAD'
  const becomesRead = !isRead && (status === 303 || ((status === 301 || status === 302) && hop.method === 'POST'))
  const headers = new Headers(hop.headers)
  if (becomesRead) for (const name of bodyHeaders) headers.delete(name)
  if (url.origin !== from.origin) {
    for (const name of [...headers.keys()]) if (!isSafeForOtherOrigin(name)) headers.delete(name)
  }
  return { url, method: becomesRead ? 'GET' : hop.method, headers, body: becomesRead ? undefined : hop.body }
}

/** Any other header may be a credential, because agents choose the header names of their API keys. */
function isSafeForOtherOrigin(name: string): boolean {
  return /^(accept|content|if)(-|$)/.test(name) || safeHeaders.has(name)
}

const safeHeaders: ReadonlySet<string> = new Set([
  'a2a-version',
  'a2a-extensions',
  'x-a2a-extensions',
  'idempotency-key',
  'last-event-id',
  'traceparent',
  'tracestate',
  'user-agent',
  // Identify a webhook delivery; headers that authenticate its sender are not listed.
  'x-a2a-delivery-id',
  'x-a2a-generation',
  'x-a2a-previous-generation',
  'x-a2a-task-id',
  'x-a2a-attempt',
])
