import type { Incoming } from './exchange.ts'

/** A strong entity tag (RFC 9110 §8.8.3) from a 64-bit hash, which need not be cryptographic. */
export function etagOf(text: string): string {
  // Two multiplicative hashes with different seeds, mixed at the end (cyrb53 with all of its bits).
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

/** Whether `If-None-Match` names this version, so that the response is 304 (RFC 9110 §13.1.2, weak comparison). */
export function matchesEtag(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  if (ifNoneMatch.trim() === '*') return true
  return Array.from(ifNoneMatch.matchAll(/"[^"]*"/g), ([tag]) => tag).includes(etag.replace(/^W\//, ''))
}

/** A version of a page, as its headers name it. */
export interface PageVersion {
  readonly etag: string
  /** A date in the form of HTTP. */
  readonly lastModified: string
}

/** Whether the caller has this version already. `If-Modified-Since` counts without an ETag only (RFC 9110 §13.1.3). */
export function isUnmodified({ header }: Pick<Incoming, 'header'>, { etag, lastModified }: PageVersion): boolean {
  const ifNoneMatch = header('if-none-match')
  if (ifNoneMatch !== undefined) return matchesEtag(ifNoneMatch, etag)
  // A missing or malformed date is NaN, and no comparison with NaN holds.
  return Date.parse(header('if-modified-since') ?? '') >= Date.parse(lastModified)
}

/** Reads `Retry-After`, seconds or a date (RFC 9110 §10.2.3), as milliseconds from now. */
export function parseRetryAfter(header: string | null, now: number): number | undefined {
  if (header === null) return undefined
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000
  const date = Date.parse(header)
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function mix(one: number, other: number): number {
  return Math.imul(one ^ (one >>> 16), 2246822507) ^ Math.imul(other ^ (other >>> 13), 3266489909)
}

function hex(bits: number): string {
  return (bits >>> 0).toString(16).padStart(8, '0')
}
