import { type Connect, connect as connectAnywhere } from '../../client/connect.ts'
import type { ConnectOptions, Target } from '../../client/options.ts'
import { createGuardedFetch, type GuardedFetch } from './guarded-fetch.ts'

let shared: GuardedFetch | undefined

/** The `connect` for Node: unless a `fetch` is passed in, it calls public addresses only, whatever a card names. */
export const connect: Connect = (target: Target, options: ConnectOptions = {}) => {
  // The types of the skills exist for the compiler only.
  if (options.fetch) return connectAnywhere<never>(target, options)
  shared ??= createGuardedFetch()
  return connectAnywhere<never>(target, { ...options, fetch: shared })
}
