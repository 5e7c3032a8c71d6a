import { withTimeout } from '../base/abort.ts'
import { defined } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { requestIdsOf } from '../base/trace-context.ts'
import { callerNetwork } from '../http/caller-address.ts'
import type { SecurityRequirement, SecurityScheme } from '../protocol/card.ts'
import { A2AError, loggedError } from '../protocol/errors.ts'
import { anonymous, isAnonymous, type Principal } from '../protocol/model.ts'
import {
  type AuthFailure,
  type AuthRequest,
  type AuthResult,
  type AuthSuccess,
  authFailure,
  challengesOf,
  type NetworkOf,
  type Scheme,
} from './scheme.ts'

export interface AnonymousOptions {
  /** Lets callers without credentials list the tasks of all callers without credentials. */
  readonly listAll?: boolean
}

/** Which callers are accepted. Declared once for checks, cards and challenges. */
export interface AuthOptions {
  /** The accepted schemes, by the names that cards give them. */
  readonly schemes?: Readonly<Record<string, Scheme>>
  /**
   * Alternatives. A caller must meet one: all schemes that it names, each with all its scopes. Defaults to any one of
   * the schemes, with any scopes.
   */
  readonly require?: readonly SecurityRequirement[]
  /**
   * Milliseconds for which a scheme may take to check credentials, such as a `custom` one that asks a database. After that,
   * they count as rejected. Defaults to 10,000.
   */
  readonly timeout?: number
  /** Accepts callers without credentials. They can read a task by its id, and list the tasks of a context they name. */
  readonly anonymous?: boolean | AnonymousOptions
}

export interface AuthContext {
  /** The name of the agent, which challenges give as the realm. */
  readonly realm: string
  readonly logger: Logger
  /** Whether the address of a caller is in the headers that a proxy sets. */
  readonly trustProxy?: boolean | undefined
}

export interface Auth {
  /** Returns the principal of a request. Throws the error to answer with: `unauthenticated` with a challenge, or `forbidden`. */
  authenticate(request: AuthRequest): Principal | Promise<Principal>
  /** Throws `forbidden`, with what is missing, unless the principal meets one of the requirements. */
  requireForSkill(skill: string, requirements: readonly SecurityRequirement[], principal: Principal): void
  /** Throws `unauthenticated` for a caller without credentials. */
  requireCredentials(principal: Principal): void
  /** `WWW-Authenticate` for callers whose credentials were rejected. */
  readonly challenge: string
  /** For cards. */
  readonly securitySchemes: Readonly<Record<string, SecurityScheme>>
  readonly security: readonly SecurityRequirement[]
}

export function createAuth(options: AuthOptions, { realm, logger, trustProxy }: AuthContext): Auth {
  checkOptions(options)
  const { timeout = 10_000 } = options
  const networkOf: NetworkOf = (request) => callerNetwork(request, { trustProxy })
  const schemes = Object.entries(options.schemes ?? {})
  const required = options.require ?? schemes.map(([name]): SecurityRequirement => ({ [name]: [] }))
  const acceptsAnonymous = Boolean(options.anonymous)
  const challengeFor = challengesOf(options.schemes ?? {}, realm)
  const invalidChallenge = challengeFor(required, 'invalid_token')
  const missingChallenge = challengeFor(required)
  const names = schemes.map(([name]) => name)
  /**
   * What was decided about results that a scheme keeps, for callers with one credential. Not about others: a custom scheme
   * may return one object for several tokens, or change it when it revokes a scope.
   */
  const decided = schemes.map(() => new WeakMap<AuthSuccess, Principal>())
  const valid = new WeakSet<AuthSuccess>()

  // Not async: credentials that were verified before are known at once.
  function resultOf(name: string, scheme: Scheme, request: AuthRequest): AuthResult | Promise<AuthResult> {
    try {
      const result = scheme.authenticate(request, networkOf)
      if (!(result instanceof Promise)) return checkResult(name, result, request)
      return withTimeout(result, timeout, () => new Error(`no answer within ${timeout / 1000} seconds`)).then(
        (late) => checkResult(name, late, request),
        (error) => failedResult(name, error, request),
      )
    } catch (error) {
      return failedResult(name, error, request)
    }
  }

  /** Also rejects principals that cannot own tasks, and logs the reason of every failure. */
  function checkResult(name: string, result: AuthResult, request: AuthRequest): AuthResult {
    if (result === undefined || ('principal' in result && valid.has(result))) return result
    const problem = 'principal' in result ? problemIn(result.principal) : undefined
    const failure = problem !== undefined ? authFailure(problem) : 'reason' in result ? result : undefined
    if (failure) report(name, failure, request)
    else if ('principal' in result && result.isKept) valid.add(result)
    return failure ?? result
  }

  function failedResult(name: string, error: unknown, request: AuthRequest): AuthResult {
    if (error instanceof A2AError) throw error
    return checkResult(name, authFailure('the scheme failed', error), request)
  }

  function report(scheme: string, { reason, cause }: AuthFailure, request: AuthRequest): void {
    const ids = requestIdsOf(request)
    if (cause === undefined) logger.info({ ...ids, scheme, reason }, 'credentials were refused')
    else logger.error({ ...ids, scheme, reason, error: loggedError(cause) }, 'credentials could not be checked')
  }

  function decide(results: readonly AuthResult[], request: AuthRequest): Principal {
    const at = onlyCredential(results)
    const result = at === undefined ? undefined : results[at]
    if (at === undefined || result === undefined || 'reason' in result || !result.isKept)
      return combine(results, request)
    const known = decided[at]?.get(result)
    if (known) return known
    const principal = combine(results, request)
    decided[at]?.set(result, principal)
    return principal
  }

  /** The principal of all credentials of a request. Throws unless they meet the requirements. */
  function combine(results: readonly AuthResult[], request: AuthRequest): Principal {
    const grants: Record<string, readonly string[]> = {}
    let first: Principal | undefined
    let expires = Number.POSITIVE_INFINITY
    let isInvalid = false
    for (const [at, result] of results.entries()) {
      if (result === undefined) continue
      if ('principal' in result) {
        first ??= result.principal
        expires = Math.min(expires, result.principal.expires ?? expires)
        grants[names[at] ?? ''] = result.principal.scopes ?? []
      } else isInvalid = true
    }
    if (first === undefined) {
      const hasUnknownScheme = request.header('authorization') !== undefined
      if (acceptsAnonymous && !isInvalid && !hasUnknownScheme) return anonymous
      return reject(isInvalid || hasUnknownScheme)
    }
    const missing = missingGrants(required, grants)
    if (missing) {
      // The credentials of the missing scheme may have been sent and rejected.
      if (isInvalid || missing.schemes.length > 0) return reject(isInvalid)
      throw forbidden(missing, challengeFor(required, 'insufficient_scope', missing.scopes))
    }
    const scopes = [...new Set(Object.values(grants).flat())]
    return {
      ...first,
      scopes,
      grants,
      ...defined({ expires: expires < Number.POSITIVE_INFINITY ? expires : undefined }),
    }
  }

  function reject(isInvalid: boolean): never {
    if (isInvalid) {
      throw new A2AError('unauthenticated', 'The credentials were not accepted.', { challenge: invalidChallenge })
    }
    const text = `This agent asks for credentials (${names.join(', ')}): its card says which and how.`
    throw new A2AError('unauthenticated', text, { challenge: missingChallenge })
  }

  return {
    authenticate(request) {
      const results = schemes.map(([name, scheme]) => resultOf(name, scheme, request))
      return results.every(isSettled)
        ? decide(results, request)
        : Promise.all(results).then((settled) => decide(settled, request))
    },
    requireForSkill(skill, requirements, { grants = {} }) {
      const missing = missingGrants(requirements, grants)
      if (missing) throw forbidden(missing, challengeFor(requirements, 'insufficient_scope', missing.scopes), skill)
    },
    requireCredentials(principal) {
      if (principal === anonymous) reject(false)
    },
    challenge: invalidChallenge,
    securitySchemes: Object.fromEntries(schemes.map(([name, { card }]) => [name, card])),
    // Every caller meets an empty requirement.
    security: acceptsAnonymous && schemes.length > 0 ? [...required, {}] : required,
  }
}

/** The index of the only scheme that found credentials. */
function onlyCredential(results: readonly AuthResult[]): number | undefined {
  const first = results.findIndex((result) => result !== undefined)
  return first < 0 || results.some((result, at) => at > first && result !== undefined) ? undefined : first
}

export type Grants = NonNullable<Principal['grants']>

export interface MissingGrants {
  readonly schemes: readonly string[]
  readonly scopes: readonly string[]
}

/** The grants that the nearest requirement lacks. Undefined if one is met: all of its schemes, each with its scopes. */
export function missingGrants(requirements: readonly SecurityRequirement[], grants: Grants): MissingGrants | undefined {
  let nearest: MissingGrants | undefined
  for (const requirement of requirements) {
    const missing = missingFor(requirement, grants)
    if (missing.schemes.length === 0 && missing.scopes.length === 0) return undefined
    if (nearest === undefined || isLess(missing, nearest)) nearest = missing
  }
  return nearest
}

function missingFor(requirement: SecurityRequirement, grants: Grants): MissingGrants {
  const schemes: string[] = []
  const missingScopes = new Set<string>()
  for (const [name, scopes] of Object.entries(requirement)) {
    const granted = Object.hasOwn(grants, name) ? grants[name] : undefined
    if (granted === undefined) schemes.push(name)
    for (const scope of scopes) if (!granted?.includes(scope)) missingScopes.add(scope)
  }
  return { schemes, scopes: [...missingScopes] }
}

function isLess(one: MissingGrants, other: MissingGrants): boolean {
  return (one.schemes.length - other.schemes.length || one.scopes.length - other.scopes.length) < 0
}

/** An operator's mistakes fail when the server starts, not when the first caller connects. */
function checkOptions({ schemes = {}, require: required, anonymous = false, timeout = 1 }: AuthOptions): void {
  if (!(timeout > 0 && timeout < 2 ** 31)) {
    throw new TypeError(`auth.timeout: expected milliseconds, from 1 on, got ${JSON.stringify(timeout)}`)
  }
  const names = Object.keys(schemes)
  if (names.length === 0 && !anonymous) {
    throw new TypeError(`auth: expected some schemes, or 'none' to accept every caller`)
  }
  if (required?.length === 0) throw new TypeError('auth.require: expected at least one requirement, or none at all')
  for (const requirement of required ?? []) {
    const requiredNames = Object.keys(requirement)
    const unknown = requiredNames.filter((name) => !names.includes(name))
    if (unknown.length > 0) {
      throw new TypeError(`auth.require: there is no scheme ${unknown.join(', ')}, but ${names.join(', ') || 'none'}`)
    }
    if (requiredNames.length === 0) {
      throw new TypeError('auth.require: {} accepts every caller: use `anonymous: true` instead')
    }
  }
  const authorities = new Set(Object.values(schemes).flatMap(({ authority }) => authority ?? []))
  if (authorities.size > 1) {
    throw new TypeError(
      `auth.schemes: ${[...authorities].join(' and ')} may give one id to two people: set the idPrefix of a scheme to keep them apart`,
    )
  }
}

/** The ids of a principal become keys, log fields and database values. */
function problemIn({ id, tenant, scopes = [], expires = 0, isOperator }: Principal): string | undefined {
  if (isOperator !== undefined) return 'only the console marks a principal as an operator'
  if (!isName(id)) return 'the id of the principal is missing, too long, or has control characters'
  if (tenant !== undefined && !isName(tenant)) return 'the tenant is empty, too long, or has control characters'
  if (isAnonymous({ id })) return `the id "${id}" is reserved for callers without credentials`
  if (!scopes.every((scope) => typeof scope === 'string')) return 'a scope is not a string'
  if (!Number.isFinite(expires)) return 'the expiry is not a finite number'
  return undefined
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && /^[^\p{Cc}\p{Cs}]{1,512}$/u.test(value)
}

/** Says what is missing, in the text for people and in the metadata for programs. */
function forbidden({ schemes, scopes }: MissingGrants, challenge: string, skill?: string): A2AError {
  const missing = [
    ...(scopes.length > 0 ? [`the scope ${scopes.join(', ')}`] : []),
    ...(schemes.length > 0 ? [`credentials of ${schemes.join(', ')}`] : []),
  ]
  const subject = skill === undefined ? 'Insufficient permissions' : `Insufficient permissions for skill '${skill}'`
  return new A2AError('forbidden', `${subject}: missing ${missing.join(' and ')}.`, {
    challenge,
    metadata: defined({
      skill,
      missingScopes: scopes.length > 0 ? scopes.join(' ') : undefined,
      missingSchemes: schemes.length > 0 ? schemes.join(' ') : undefined,
    }),
  })
}

function isSettled(result: AuthResult | Promise<AuthResult>): result is AuthResult {
  return !(result instanceof Promise)
}
