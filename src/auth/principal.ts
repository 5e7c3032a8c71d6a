import type { Principal } from '../protocol/model.ts'
import { isAnonymous } from '../protocol/owner.ts'

/** What makes a principal unfit to own anything: its ids go into keys, logs and databases. */
export function faultOf({ id, tenant, scopes = [], expires = 0 }: Principal): string | undefined {
  if (!isName(id)) return 'the id of the principal is missing, too long, or has control characters'
  if (tenant !== undefined && !isName(tenant)) return 'the tenant is empty, too long, or has control characters'
  if (isAnonymous({ id })) return `the id "${id}" is the one of callers without credentials`
  if (!scopes.every((scope) => typeof scope === 'string')) return 'a scope is not a text'
  if (!Number.isFinite(expires)) return 'the time at which it expires is no number'
  return undefined
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[^\p{Cc}\p{Cs}]{1,512}$/u.test(value)
}
