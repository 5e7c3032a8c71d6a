import { tenantPrefix } from '../../protocol/owner.ts'
import type { Scope } from '../../tasks/log.ts'

/** The owners of a tenant lie side by side in the index: from its prefix on, up to where that would be greater by one. */
export function ownedBy({ owner, also }: Scope): { readonly condition: string; readonly values: readonly string[] } {
  if (also === undefined) return { condition: 'task.owner = ?', values: [owner] }
  if (also === 'everyone') return { condition: '1', values: [] }
  const owners = [owner, ...(also.owners ?? [])]
  const ranges = (also.tenants ?? []).map((tenant) => [tenantPrefix(tenant), tenantEnd(tenant)] as const)
  // As one value, so that the number of owners makes no new statement.
  const conditions = ['task.owner IN (SELECT value FROM json_each(?))']
  for (const _ of ranges) conditions.push('(task.owner >= ? AND task.owner < ?)')
  return { condition: `(${conditions.join(' OR ')})`, values: [JSON.stringify(owners), ...ranges.flat()] }
}

function tenantEnd(tenant: string): string {
  const prefix = tenantPrefix(tenant)
  return `${tenant}${String.fromCharCode(prefix.charCodeAt(prefix.length - 1) + 1)}`
}
