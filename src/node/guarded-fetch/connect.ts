import type { Connect } from '../../client/connect.ts'
import type { ConnectOptions, Target } from '../../client/options.ts'
import { createGuardedFetch, type GuardedFetch } from './guarded-fetch.ts'

let shared: GuardedFetch | undefined

/** As it is, but what cards name is asked only if it is public, unless a `fetch` is handed in. */
export function guardedConnect(connect: Connect): Connect {
  // What is known of skills is known to the compiler alone.
  return (target: Target, options: ConnectOptions = {}) => {
    if (options.fetch) return connect<never>(target, options)
    shared ??= createGuardedFetch()
    return connect<never>(target, { ...options, fetch: shared })
  }
}
