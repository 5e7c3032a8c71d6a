import { A2AError } from '../protocol/errors.ts'
import type { Logger } from '../protocol/logger.ts'
import { anonymous, type Principal } from '../protocol/model.ts'
import { requestIdsOf } from '../protocol/request-ids.ts'
import type { SecurityRequirement, SecurityScheme } from '../protocol/security.ts'
import { challengesOf } from './challenge.ts'
import { checkOptions } from './check-options.ts'
import { forbidden } from './forbidden.ts'
import type { AuthOptions } from './options.ts'
import { faultOf } from './principal.ts'
import { gapOf } from './requirements.ts'
import { type Presented, type Refused, refused, type Scheme, type Verdict } from './scheme.ts'

export interface Auth {
  /** Who is calling. Throws what the caller is to be told: `unauthenticated` with a challenge, or `forbidden`. */
  principalOf(presented: Presented): Principal | Promise<Principal>
  /** Throws `forbidden`, with what is missing, unless one of the requirements is met. */
  requireFor(skill: string, requirements: readonly SecurityRequirement[], principal: Principal): void
  /** Throws `unauthenticated`. */
  requireSomebody(principal: Principal): void
  /** What callers are told whose credentials were not accepted. */
  readonly challenge: string
  /** For cards. */
  readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  readonly security: readonly SecurityRequirement[]
}

export interface AuthContext {
  /** What the credentials are for: the name of the agent. */
  readonly realm: string
  readonly logger: Logger
}

export function createAuth(options: AuthOptions, { realm, logger }: AuthContext): Auth {
  checkOptions(options)
  const schemes = Object.entries(options.schemes ?? {})
  const required = options.require ?? schemes.map(([name]): SecurityRequirement => ({ [name]: [] }))
  const isOpen = Boolean(options.anonymous)
  const challenge = challengesOf(options.schemes ?? {}, realm)
  const invalid = challenge(required, 'invalid_token')
  const missing = challenge(required)
  const names = schemes.map(([name]) => name)

  function report(scheme: string, { refused: reason, cause }: Refused, presented: Presented): void {
    const ids = requestIdsOf(presented)
    if (cause === undefined) logger.info({ ...ids, scheme, reason }, 'credentials were refused')
    else logger.error({ ...ids, scheme, reason, error: cause }, 'credentials could not be checked')
  }

  /** A verdict that can be relied upon: a principal that may own things, or the reason that was told to the operator. */
  function checked(name: string, verdict: Verdict, presented: Presented): Verdict {
    if (verdict === undefined) return undefined
    const fault = 'principal' in verdict ? faultOf(verdict.principal) : undefined
    const refusal = fault !== undefined ? refused(fault) : 'refused' in verdict ? verdict : undefined
    if (refusal) report(name, refusal, presented)
    return refusal ?? verdict
  }

  function failed(name: string, error: unknown, presented: Presented): Verdict {
    if (error instanceof A2AError) throw error
    return checked(name, refused('the scheme failed', error), presented)
  }

  // Not async: who has been here before is known at once.
  function verdictOf(name: string, scheme: Scheme, presented: Presented): Verdict | Promise<Verdict> {
    try {
      const verdict = scheme.authenticate(presented)
      if (!(verdict instanceof Promise)) return checked(name, verdict, presented)
      return verdict.then(
        (late) => checked(name, late, presented),
        (error) => failed(name, error, presented),
      )
    } catch (error) {
      return failed(name, error, presented)
    }
  }

  function refuse(isInvalid: boolean): never {
    if (isInvalid) {
      throw new A2AError('unauthenticated', 'The credentials were not accepted.', { challenge: invalid })
    }
    const text = `This agent asks for credentials (${names.join(', ')}): its card says which and how.`
    throw new A2AError('unauthenticated', text, { challenge: missing })
  }

  function decide(verdicts: readonly Verdict[], presented: Presented): Principal {
    const grants: Record<string, readonly string[]> = {}
    let first: Principal | undefined
    let expires = Number.POSITIVE_INFINITY
    let isInvalid = false
    for (const [at, verdict] of verdicts.entries()) {
      if (verdict === undefined) continue
      if ('principal' in verdict) {
        first ??= verdict.principal
        expires = Math.min(expires, verdict.principal.expires ?? expires)
        grants[names[at] ?? ''] = verdict.principal.scopes ?? []
      } else isInvalid = true
    }
    if (first === undefined) {
      const isStrange = presented.header('authorization') !== undefined
      if (isOpen && !isInvalid && !isStrange) return anonymous
      return refuse(isInvalid || isStrange)
    }
    const gap = gapOf(required, grants)
    if (gap) {
      // What is missing may have come, and was not accepted.
      if (isInvalid || gap.schemes.length > 0) return refuse(isInvalid)
      throw forbidden(gap, challenge(required, 'insufficient_scope', gap.scopes))
    }
    const scopes = [...new Set(Object.values(grants).flat())]
    return { ...first, scopes, grants, ...(expires < Number.POSITIVE_INFINITY && { expires }) }
  }

  return {
    principalOf(presented) {
      const verdicts = schemes.map(([name, scheme]) => verdictOf(name, scheme, presented))
      return verdicts.every(isKnown)
        ? decide(verdicts, presented)
        : Promise.all(verdicts).then((all) => decide(all, presented))
    },
    requireFor(skill, requirements, { grants = {} }) {
      const gap = gapOf(requirements, grants)
      if (gap) throw forbidden(gap, challenge(requirements, 'insufficient_scope', gap.scopes), skill)
    },
    requireSomebody(principal) {
      if (principal === anonymous) refuse(false)
    },
    challenge: invalid,
    securitySchemes: Object.fromEntries(schemes.map(([name, { card }]) => [name, card])),
    // An empty requirement is one that everybody meets.
    security: isOpen && schemes.length > 0 ? [...required, {}] : required,
  }
}

function isKnown(verdict: Verdict | Promise<Verdict>): verdict is Verdict {
  return !(verdict instanceof Promise)
}
