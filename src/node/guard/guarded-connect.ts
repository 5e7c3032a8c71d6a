import type { Connect } from '../../client/create-connect.ts'
import { createGuardedFetch, type GuardedFetch } from './guarded-fetch.ts'

let shared: GuardedFetch | undefined

/** As it is, but what cards name is asked only if it is public, unless a `fetch` is handed in. */
export function guardedConnect(connect: Connect): Connect {
  return (target, options = {}) => {
    if (options.fetch) return connect(target, options)
    shared ??= createGuardedFetch()
    return connect(target, { ...options, fetch: shared })
  }
}
