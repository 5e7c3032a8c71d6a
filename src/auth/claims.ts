import type { Json, JsonObject, Principal } from '../protocol/model.ts'
import { refused, type Verdict } from './scheme.ts'

/** How what a token says becomes a principal. */
export interface ClaimsOptions {
  /** The claim with the caller's tenant, such as `tid`. */
  readonly tenantClaim?: string
  /** Put before every id, to keep the ids of this issuer apart from those of another. */
  readonly idPrefix?: string
  /** Reads the claims in another way; undefined refuses the token. */
  readonly principal?: (claims: JsonObject) => Principal | undefined
}

/** Whom a token stands for: `sub`, or the client itself where nobody is behind it. */
export function verdictOn(claims: JsonObject, options: ClaimsOptions): Verdict {
  const { tenantClaim, idPrefix = '' } = options
  const bound = claims.cnf === undefined ? {} : { confirmation: claims.cnf }
  if (options.principal) {
    const principal = options.principal(claims)
    return principal ? { principal, ...bound } : refused('the claims are of nobody who may call')
  }
  const id = textOf(claims.sub) ?? textOf(claims.client_id) ?? textOf(claims.azp)
  if (id === undefined) return refused('the token is of nobody: it has no sub and no client_id')
  const tenant = tenantClaim === undefined ? undefined : textOf(claims[tenantClaim])
  if (tenantClaim !== undefined && tenant === undefined) return refused(`the token has no ${tenantClaim}`)
  const scopes = [...new Set([...wordsOf(claims.scope), ...wordsOf(claims.scp)])]
  return { principal: { id: `${idPrefix}${id}`, scopes, claims, ...(tenant !== undefined && { tenant }) }, ...bound }
}

/** Of RFC 8693 §4.2 it is a text; some issuers have a list. */
function wordsOf(scope: Json | undefined): readonly string[] {
  if (typeof scope === 'string') return scope.split(' ').filter((word) => word !== '')
  return Array.isArray(scope) ? scope.filter((word) => typeof word === 'string') : []
}

function textOf(claim: Json | undefined): string | undefined {
  return typeof claim === 'string' && claim !== '' ? claim : undefined
}

/** Who chooses the ids, if they are taken as they come. */
export function authorityOf(
  { idPrefix, principal }: ClaimsOptions,
  issuer: string | readonly string[],
): string | undefined {
  return idPrefix !== undefined || principal ? undefined : [issuer].flat().join(', ')
}
