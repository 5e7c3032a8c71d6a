import { defined } from '../../base/json.ts'
import { checkOptions, milliseconds, type OptionChecks } from '../../base/options.ts'
import { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions, guardedFetchChecks } from './guarded-fetch.ts'

/** Options of `createPushFetch`. */
export interface PushFetchOptions
  extends Pick<GuardedFetchOptions, 'allow' | 'loopback' | 'redirects' | 'tls' | 'resolve'> {
  /** Defaults to `https`, and `http` too if `loopback` is `allow`. */
  readonly schemes?: GuardedFetchOptions['schemes']
  /** Timeout in milliseconds for a delivery. Defaults to 15,000. */
  readonly timeout?: number
}

/**
 * A `fetch` for webhooks. Unless `loopback` allows this machine, it uses https only and never calls this machine. It
 * follows no redirects unless `redirects` allows some, and checks the target of each.
 */
export function createPushFetch(options: PushFetchOptions = {}): GuardedFetch {
  checkOptions('createPushFetch', options, optionChecks)
  const { timeout = 15_000, schemes, redirects = 0, allow, loopback, tls, resolve } = options
  return createGuardedFetch(
    defined({
      schemes: schemes ?? (loopback === 'allow' ? ['https', 'http'] : ['https']),
      redirects,
      keepMethod: true,
      allow,
      loopback,
      tls,
      resolve,
      connectTimeout: Math.min(10_000, timeout),
      headersTimeout: timeout,
      idleTimeout: timeout,
      totalTimeout: timeout,
      maxBytes,
    }),
  )
}

const { allow, loopback, redirects, tls, resolve, schemes } = guardedFetchChecks

const optionChecks: OptionChecks<PushFetchOptions> = {
  allow,
  loopback,
  redirects,
  tls,
  resolve,
  schemes,
  timeout: milliseconds({ min: 1 }),
}

/** The maximum size of a response, whose content does not matter. */
const maxBytes = 64 * 1024
