import type { Logger } from '../base/logger.ts'
import { requestIdsOf } from '../base/trace-context.ts'
import type { SecurityRequirement, SecurityScheme } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import { anonymous, type Principal } from '../protocol/model.ts'
import { isAnonymous } from '../protocol/principal.ts'
import {
  type AuthFailure,
  type AuthRequest,
  type AuthResult,
  authFailure,
  challengesOf,
  type Scheme,
} from './scheme.ts'

export interface AnonymousOptions {
  /** Lets callers without credentials list the tasks of all of them. */
  readonly listAll?: boolean
}

/** Who may call, declared once: what is checked, what cards say, and how callers without credentials are answered. */
export interface AuthOptions {
  /** By the names that cards give them. */
  readonly schemes?: Readonly<Record<string, Scheme>>
  /**
   * One of these must be met: all the schemes that it names, each with all its scopes. Any one of the schemes, with any
   * scopes, by default.
   */
  readonly require?: readonly SecurityRequirement[]
  /** Lets in callers without credentials. They reach a task by its id, and list the tasks of a context they name. */
  readonly anonymous?: boolean | AnonymousOptions
}

export interface AuthContext {
  /** What the credentials are for: the name of the agent. */
  readonly realm: string
  readonly logger: Logger
}

export interface Auth {
  /** Who is calling. Throws what the caller is to be told: `unauthenticated` with a challenge, or `forbidden`. */
  authenticate(presented: AuthRequest): Principal | Promise<Principal>
  /** Throws `forbidden`, with what is missing, unless one of the requirements is met. */
  requireForSkill(skill: string, requirements: readonly SecurityRequirement[], principal: Principal): void
  /** Throws `unauthenticated`. */
  requireCredentials(principal: Principal): void
  /** What callers are told whose credentials were not accepted. */
  readonly challenge: string
  /** For cards. */
  readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  readonly security: readonly SecurityRequirement[]
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

  function report(scheme: string, { reason, cause }: AuthFailure, presented: AuthRequest): void {
    const ids = requestIdsOf(presented)
    if (cause === undefined) logger.info({ ...ids, scheme, reason }, 'credentials were refused')
    else logger.error({ ...ids, scheme, reason, error: cause }, 'credentials could not be checked')
  }

  /** A verdict that can be relied upon: a principal that may own things, or the reason that was told to the operator. */
  function checked(name: string, verdict: AuthResult, presented: AuthRequest): AuthResult {
    if (verdict === undefined) return undefined
    const fault = 'principal' in verdict ? faultOf(verdict.principal) : undefined
    const refusal = fault !== undefined ? authFailure(fault) : 'reason' in verdict ? verdict : undefined
    if (refusal) report(name, refusal, presented)
    return refusal ?? verdict
  }

  function failed(name: string, error: unknown, presented: AuthRequest): AuthResult {
    if (error instanceof A2AError) throw error
    return checked(name, authFailure('the scheme failed', error), presented)
  }

  // Not async: who has been here before is known at once.
  function verdictOf(name: string, scheme: Scheme, presented: AuthRequest): AuthResult | Promise<AuthResult> {
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

  function decide(verdicts: readonly AuthResult[], presented: AuthRequest): Principal {
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
    const gap = missingGrants(required, grants)
    if (gap) {
      // What is missing may have come, and was not accepted.
      if (isInvalid || gap.schemes.length > 0) return refuse(isInvalid)
      throw forbidden(gap, challenge(required, 'insufficient_scope', gap.scopes))
    }
    const scopes = [...new Set(Object.values(grants).flat())]
    return { ...first, scopes, grants, ...(expires < Number.POSITIVE_INFINITY && { expires }) }
  }

  return {
    authenticate(presented) {
      const verdicts = schemes.map(([name, scheme]) => verdictOf(name, scheme, presented))
      return verdicts.every(isKnown)
        ? decide(verdicts, presented)
        : Promise.all(verdicts).then((all) => decide(all, presented))
    },
    requireForSkill(skill, requirements, { grants = {} }) {
      const gap = missingGrants(requirements, grants)
      if (gap) throw forbidden(gap, challenge(requirements, 'insufficient_scope', gap.scopes), skill)
    },
    requireCredentials(principal) {
      if (principal === anonymous) refuse(false)
    },
    challenge: invalid,
    securitySchemes: Object.fromEntries(schemes.map(([name, { card }]) => [name, card])),
    // An empty requirement is one that everybody meets.
    security: isOpen && schemes.length > 0 ? [...required, {}] : required,
  }
}

export type Grants = NonNullable<Principal['grants']>

/** What is missing to meet the nearest of the requirements. */
export interface MissingGrants {
  readonly schemes: readonly string[]
  readonly scopes: readonly string[]
}

/** Undefined if one of the requirements is met: all of its schemes, each with its scopes. */
export function missingGrants(requirements: readonly SecurityRequirement[], grants: Grants): MissingGrants | undefined {
  let nearest: MissingGrants | undefined
  for (const requirement of requirements) {
    const gap = missingIn(requirement, grants)
    if (gap.schemes.length === 0 && gap.scopes.length === 0) return undefined
    if (nearest === undefined || isNearer(gap, nearest)) nearest = gap
  }
  return nearest
}

function missingIn(requirement: SecurityRequirement, grants: Grants): MissingGrants {
  const schemes: string[] = []
  const scopes = new Set<string>()
  for (const [name, needed] of Object.entries(requirement)) {
    const granted = Object.hasOwn(grants, name) ? grants[name] : undefined
    if (granted === undefined) schemes.push(name)
    for (const scope of needed) if (!granted?.includes(scope)) scopes.add(scope)
  }
  return { schemes, scopes: [...scopes] }
}

function isNearer(one: MissingGrants, other: MissingGrants): boolean {
  return (one.schemes.length - other.schemes.length || one.scopes.length - other.scopes.length) < 0
}

/** Mistakes in what an operator declares are told when the server starts, not when a caller comes. */
function checkOptions({ schemes = {}, require: required, anonymous = false }: AuthOptions): void {
  const names = Object.keys(schemes)
  if (names.length === 0 && !anonymous) {
    throw new TypeError(`auth: expected some schemes, or 'none' to let everybody in`)
  }
  if (required?.length === 0) throw new TypeError('auth.require: expected at least one requirement, or none at all')
  for (const requirement of required ?? []) {
    const named = Object.keys(requirement)
    const unknown = named.filter((name) => !names.includes(name))
    if (unknown.length > 0) {
      throw new TypeError(`auth.require: there is no scheme ${unknown.join(', ')}, but ${names.join(', ') || 'none'}`)
    }
    if (named.length === 0) throw new TypeError('auth.require: {} lets everybody in: say `anonymous: true` instead')
  }
  const authorities = new Set(Object.values(schemes).flatMap(({ authority }) => authority ?? []))
  if (authorities.size > 1) {
    const several = [...authorities].join(' and ')
    throw new TypeError(
      `auth.schemes: ${several} may give one id to two people: tell them apart by the idPrefix of a scheme`,
    )
  }
}

/** What makes a principal unfit to own anything: its ids go into keys, logs and databases. */
function faultOf({ id, tenant, scopes = [], expires = 0 }: Principal): string | undefined {
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

/** Who calls is known, and may not do this: with what is missing, for people and for programs. */
function forbidden({ schemes, scopes }: MissingGrants, challenge: string, skill?: string): A2AError {
  const lacking = [
    ...(scopes.length > 0 ? [`the scope ${scopes.join(', ')}`] : []),
    ...(schemes.length > 0 ? [`credentials of ${schemes.join(', ')}`] : []),
  ]
  const what = skill === undefined ? 'Insufficient permissions' : `Insufficient permissions for skill '${skill}'`
  return new A2AError('forbidden', `${what}: missing ${lacking.join(' and ')}.`, {
    challenge,
    metadata: {
      ...(skill !== undefined && { skill }),
      ...(scopes.length > 0 && { missingScopes: scopes.join(' ') }),
      ...(schemes.length > 0 && { missingSchemes: schemes.join(' ') }),
    },
  })
}

function isKnown(verdict: AuthResult | Promise<AuthResult>): verdict is AuthResult {
  return !(verdict instanceof Promise)
}
