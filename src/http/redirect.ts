import { RequestRefused } from './address-guard.ts'

const ofBody = ['content-type', 'content-length', 'content-encoding', 'content-language', 'content-location']

export const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

/** One request of those that redirects lead to. */
export interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: Uint8Array | undefined
}

/** Where a redirect leads, as the Fetch standard has it (§4.4), but with less trust in where that is. */
export function nextHop(hop: Hop, status: number, location: string): Hop {
  const { url: from } = hop
  if (!URL.canParse(location, from.href)) {
    throw new RequestRefused('bad-url', `${from.host} redirects to what is no address`)
  }
  const url = new URL(location, from.href)
  if (from.protocol === 'https:' && url.protocol === 'http:') {
    throw new RequestRefused('downgrade', `${from.host} redirects from https to http`)
  }
  const isRead = hop.method === 'GET' || hop.method === 'HEAD'
  const becomesRead = !isRead && (status === 303 || ((status === 301 || status === 302) && hop.method === 'POST'))
  const headers = new Headers(hop.headers)
  if (becomesRead) for (const name of ofBody) headers.delete(name)
  if (url.origin !== from.origin) {
    for (const name of [...headers.keys()]) if (!isForAnybody(name)) headers.delete(name)
  }
  return { url, method: becomesRead ? 'GET' : hop.method, headers, body: becomesRead ? undefined : hop.body }
}

/** Any other header may be a credential, since keys have whatever name an agent chose for them. */
function isForAnybody(name: string): boolean {
  return /^(accept|content|if)(-|$)/.test(name) || forAnybody.has(name)
}

const forAnybody: ReadonlySet<string> = new Set([
  'a2a-version',
  'a2a-extensions',
  'x-a2a-extensions',
  'idempotency-key',
  'last-event-id',
  'traceparent',
  'tracestate',
  'user-agent',
  // Which delivery of a webhook it is; what proves who sends it is not among them.
  'x-a2a-delivery-id',
  'x-a2a-generation',
  'x-a2a-previous-generation',
  'x-a2a-task-id',
  'x-a2a-attempt',
])
