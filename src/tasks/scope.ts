import { tenantPrefix } from '../protocol/owner.ts'
import type { Scope } from './log.ts'

/** Whether what belongs to this owner can be seen. */
export function isWithin({ owner, also }: Scope, asked: string): boolean {
  if (asked === owner) return true
  if (also === undefined) return false
  if (also === 'everyone') return true
  const { owners = [], tenants = [] } = also
  return owners.includes(asked) || tenants.some((tenant) => asked.startsWith(tenantPrefix(tenant)))
}
