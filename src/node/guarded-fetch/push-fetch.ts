import { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'

/** What is read of an answer that says nothing. */
const maxBytes = 64 * 1024

export interface PushFetchOptions
  extends Pick<GuardedFetchOptions, 'schemes' | 'allow' | 'loopback' | 'redirects' | 'tls' | 'resolve' | 'logger'> {
  /** How long a receiver may take, in milliseconds. 15 seconds by default. */
  readonly timeout?: number
}

/**
 * A `fetch` for webhooks. Outside development it asks over https only and never this machine; it follows no redirect
 * unless told how many, and then checks where each leads.
 */
export function createPushFetch(options: PushFetchOptions = {}): GuardedFetch {
  const { timeout = 15_000, schemes, redirects = 0, allow, loopback, tls, resolve, logger } = options
  const isProduction = process.env.NODE_ENV === 'production'
  return createGuardedFetch({
    schemes: schemes ?? (isProduction ? ['https'] : ['https', 'http']),
    redirects,
    keepMethod: true,
    ...(allow && { allow }),
    ...(loopback && { loopback }),
    ...(tls && { tls }),
    ...(resolve && { resolve }),
    ...(logger && { logger }),
    connectTimeout: Math.min(10_000, timeout),
    headersTimeout: timeout,
    idleTimeout: timeout,
    totalTimeout: timeout,
    maxBytes,
  })
}
