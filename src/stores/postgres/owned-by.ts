import { tenantPrefix } from '../../protocol/owner.ts'
import type { Scope } from '../../tasks/log.ts'
import { encodeText, lines } from './text.ts'

interface Owned {
  readonly conditions: readonly string[]
  readonly values: readonly string[]
}

export function ownedBy({ owner, also }: Scope): Owned {
  if (also === undefined) return { conditions: ['task.owner = $1'], values: [encodeText(owner)] }
  if (also === 'everyone') return { conditions: [], values: [] }
  const { owners = [], tenants = [] } = also
  // As values of one line each, so that their number makes no new statement.
  const among = `task.owner = ANY (string_to_array($1, E'\\n'))`
  const within = `EXISTS (SELECT FROM unnest(string_to_array($2, E'\\n')) AS tenant WHERE starts_with(task.owner, tenant))`
  return {
    conditions: [`(${among} OR ${within})`],
    values: [lines([owner, ...owners]), lines(tenants.map(tenantPrefix))],
  }
}
