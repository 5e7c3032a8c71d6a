import { A2AError } from '../protocol/errors.ts'
import type { Logger } from '../protocol/logger.ts'
import { anonymous, type Principal } from '../protocol/model.ts'
import type { SecurityRequirement, SecurityScheme } from '../protocol/security.ts'
import { challengesOf } from './challenge.ts'
import { checkOptions } from './check-options.ts'
import { forbidden } from './forbidden.ts'
import type { AuthOptions } from './options.ts'
import { faultOf } from './principal.ts'
import { gapOf } from './requirements.ts'
import type { Presented, Refused, Scheme, Verdict } from './scheme.ts'

export interface Auth {
  /** Who is calling. Throws what the caller is to be told: `unauthenticated` with a challenge, or `forbidden`. */
  principalOf(presented: Presented): Promise<Principal>
  /** Throws `forbidden`, with what is missing, unless one of the requirements is met. */
  requireFor(skill: string, requirements: readonly SecurityRequirement[], principal: Principal): void
  /** Throws `unauthenticated`. */
  requireSomebody(principal: Principal): void
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
  const names = schemes.map(([name]) => name).join(', ')

  function report(scheme: string, { refused, cause }: Refused): void {
    if (cause === undefined) logger.info({ scheme, reason: refused }, 'credentials were refused')
    else logger.error({ scheme, reason: refused, error: cause }, 'credentials could not be checked')
  }

  async function verdictOf(name: string, scheme: Scheme, presented: Presented): Promise<Verdict> {
    try {
      const verdict = await scheme.authenticate(presented)
      const fault = verdict && 'principal' in verdict ? faultOf(verdict.principal) : undefined
      if (fault === undefined && !(verdict && 'refused' in verdict)) return verdict
      const refusal = fault === undefined ? (verdict as Refused) : { refused: fault }
      report(name, refusal)
      return refusal
    } catch (error) {
      if (error instanceof A2AError) throw error
      const refusal = { refused: 'the scheme failed', cause: error }
      report(name, refusal)
      return refusal
    }
  }

  function refuse(isInvalid: boolean): never {
    if (isInvalid) {
      throw new A2AError('unauthenticated', 'The credentials were not accepted.', { challenge: invalid })
    }
    const text = `This agent asks for credentials (${names}): its card says which and how.`
    throw new A2AError('unauthenticated', text, { challenge: missing })
  }

  return {
    async principalOf(presented) {
      const grants: Record<string, readonly string[]> = {}
      let first: Principal | undefined
      let isInvalid = false
      for (const [name, scheme] of schemes) {
        const verdict = await verdictOf(name, scheme, presented)
        if (verdict === undefined) continue
        if ('principal' in verdict) {
          first ??= verdict.principal
          grants[name] = verdict.principal.scopes ?? []
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
      return { ...first, scopes, grants }
    },
    requireFor(skill, requirements, { grants = {} }) {
      const gap = gapOf(requirements, grants)
      if (gap) throw forbidden(gap, challenge(requirements, 'insufficient_scope', gap.scopes), skill)
    },
    requireSomebody(principal) {
      if (principal === anonymous) refuse(false)
    },
    securitySchemes: Object.fromEntries(schemes.map(([name, { card }]) => [name, card])),
    // An empty requirement is one that everybody meets.
    security: isOpen && schemes.length > 0 ? [...required, {}] : required,
  }
}
