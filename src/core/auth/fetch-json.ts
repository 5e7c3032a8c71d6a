import { isObject, type JsonObject } from '../base/json.ts'
import type { Fetch } from '../http/fetch.ts'
import { isLoopback } from '../http/origin.ts'
import { readLimited } from '../http/read-limited.ts'

/** Timeout in milliseconds, after which an issuer counts as unavailable. */
const timeout = 5_000

const maxBytes = 1024 * 1024

/** Fetches a JSON object from a party that the operator trusts. Redirects are errors. */
export async function fetchJson(
  url: string,
  init: RequestInit = {},
  fetch: Fetch = globalThis.fetch,
): Promise<JsonObject> {
  const response = await fetch(url, {
    redirect: 'error',
    signal: AbortSignal.timeout(timeout),
    ...init,
    headers: { accept: 'application/json', ...init.headers },
  })
  const bytes = await readLimited(response.body, maxBytes)
  if (!response.ok) throw new Error(`${url} answered with HTTP status ${response.status}`)
  const value: unknown = JSON.parse(new TextDecoder().decode(bytes))
  if (!isObject(value)) throw new Error(`${url} answered with something that is no JSON object`)
  return value
}

/** Throws unless the URL uses TLS, or stays on this machine. Returns it in its normal form. */
export function requireSecureUrl(what: string, url: string | URL): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isSecure = parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopback(parsed.hostname))
  if (!isSecure) throw new TypeError(`${what}: expected an address that begins with https://, got ${url}`)
  return parsed.href
}
