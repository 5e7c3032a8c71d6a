import { anonymous, type Principal } from './model.ts'

/** Between tenant and id. No id has it: control characters are refused. */
const separator = '\u001f'

/** By whom tasks and keys are owned: one name for one principal of one tenant. */
export function ownerOf({ id, tenant }: Principal): string {
  return tenant === undefined ? id : `${tenantPrefix(tenant)}${id}`
}

/** With which the owners of a tenant begin. */
export function tenantPrefix(tenant: string): string {
  return `${tenant}${separator}`
}

export function isAnonymous({ id, tenant }: Principal): boolean {
  return id === anonymous.id && tenant === undefined
}
