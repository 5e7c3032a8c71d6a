import type { Principal } from '../protocol/model.ts'
import type { SecurityRequirement } from '../protocol/security.ts'

export type Grants = NonNullable<Principal['grants']>

/** What is missing to meet the nearest of the requirements. */
export interface Gap {
  readonly schemes: readonly string[]
  readonly scopes: readonly string[]
}

/** Undefined if one of the requirements is met: all of its schemes, each with its scopes. */
export function gapOf(requirements: readonly SecurityRequirement[], grants: Grants): Gap | undefined {
  let nearest: Gap | undefined
  for (const requirement of requirements) {
    const gap = missingIn(requirement, grants)
    if (gap.schemes.length === 0 && gap.scopes.length === 0) return undefined
    if (nearest === undefined || isNearer(gap, nearest)) nearest = gap
  }
  return nearest
}

function missingIn(requirement: SecurityRequirement, grants: Grants): Gap {
  const schemes: string[] = []
  const scopes = new Set<string>()
  for (const [name, needed] of Object.entries(requirement)) {
    const granted = Object.hasOwn(grants, name) ? grants[name] : undefined
    if (granted === undefined) schemes.push(name)
    for (const scope of needed) if (!granted?.includes(scope)) scopes.add(scope)
  }
  return { schemes, scopes: [...scopes] }
}

function isNearer(one: Gap, other: Gap): boolean {
  return (one.schemes.length - other.schemes.length || one.scopes.length - other.scopes.length) < 0
}
