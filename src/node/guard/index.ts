export { type Refusal, RequestRefused } from '../../http/guard/request-refused.ts'
export { createGuardedFetch, type GuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'
export type { GuardLimits } from './limits.ts'
export type { Resolve, ResolvedAddress } from './pinned-lookup.ts'
