import type { JsonObject } from '../base/json.ts'
import type { Fetch } from '../http/fetch.ts'
import { isLoopback } from '../http/origin.ts'
import { readLimited } from '../http/read-limited.ts'

/** An issuer that does not answer in so many milliseconds is down; what it says is short. */
const timeout = 5_000

const maxBytes = 1024 * 1024

/** A JSON object from a party that the operator trusts. It is not followed elsewhere, and not waited for long. */
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
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${url} answered with something that is no JSON object`)
  }
  return value as JsonObject
}

/** Throws unless what goes there and comes from there can be trusted: by TLS, or because it stays on this machine. */
export function requireSecureUrl(what: string, url: string | URL): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  const isSafe = parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopback(parsed.hostname))
  if (!isSafe) throw new TypeError(`${what}: expected an address that begins with https://, got ${url}`)
  return parsed.href
}
