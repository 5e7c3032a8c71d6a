import { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'

export interface PushFetchOptions
  extends Pick<GuardedFetchOptions, 'schemes' | 'allow' | 'loopback' | 'redirects' | 'tls' | 'resolve' | 'logger'> {
  /** Timeout in milliseconds for a delivery. Defaults to 15,000. */
  readonly timeout?: number
}

/**
 * A `fetch` for webhooks. In production it uses https only and never calls this machine. It follows no redirects unless
 * `redirects` allows some, and checks the target of each.
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

/** The maximum size of a response, whose content does not matter. */
const maxBytes = 64 * 1024
