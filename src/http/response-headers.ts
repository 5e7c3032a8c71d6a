import { isJson } from './json.ts'

/**
 * The headers of an answer with those that browsers need. A POST of JSON is none that a link, a form, a frame or a tag
 * could make (Fetch §4.8): its answer is never opened, only read by scripts that are allowed to, and is spared the rest.
 */
export function secured(headers: Headers, method: string | undefined, contentType: string | undefined): Headers {
  if (method === 'POST' && isJson(contentType)) return { ...headers, 'x-content-type-options': 'nosniff' }
  return { ...securityHeaders, ...headers }
}

/** A strong entity tag (RFC 9110 §8.8.3) from a 64-bit hash: it tells versions apart and is no secret. */
export function etagOf(text: string): string {
  // Two differently seeded multiplicative hashes, mixed into each other at the end (cyrb53, with all its bits kept).
  let low = 0xdeadbeef
  let high = 0x41c6ce57
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    low = Math.imul(low ^ unit, 2654435761)
    high = Math.imul(high ^ unit, 1597334677)
  }
  const mixedLow = mix(low, high)
  return `"${hex(mix(high, mixedLow))}${hex(mixedLow)}"`
}

/** Whether `If-None-Match` names this version, so that 304 is the answer (RFC 9110 §13.1.2, weak comparison). */
export function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return Array.from(ifNoneMatch.matchAll(/"[^"]*"/g), ([tag]) => tag).includes(etag.replace(/^W\//, ''))
}

/** Reads `Retry-After`, seconds or a date (RFC 9110 §10.2.3), as milliseconds from now. */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/**
 * What every answer that a browser can open says to it, unless it says otherwise itself: nothing here is a page. It is
 * what its type says (`nosniff`), loads and submits nothing, is framed by nobody, tells nobody where its reader came
 * from, and is no part of other sites' pages. Those that `cors` allows can still read it. What is not said to be
 * cacheable is kept nowhere: caches know `Authorization`, but not the other ways in which callers say who they are.
 */
export const securityHeaders = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
} as const satisfies Record<string, string>

type Headers = Readonly<Record<string, string>>

function mix(one: number, other: number): number {
  return Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(other ^ (other >>> 13), 3266489909)
}

function hex(bits: number): string {
  return (bits >>> 0).toString(16).padStart(8, '0')
}
