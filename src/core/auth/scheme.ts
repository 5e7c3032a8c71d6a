import { defined, type Json } from '../base/json.ts'
import type { Incoming } from '../http/exchange.ts'
import type { SecurityRequirement, SecurityScheme } from '../protocol/card.ts'
import type { Principal } from '../protocol/model.ts'

/** Longer than any token or key in use. Longer credentials are rejected unread. */
const maxCredentials = 16 * 1024

/** RFC 9110 §11.2. */
const token68 = /^[\w.~+/-]+=*$/

/** One way in which callers prove their identity. */
export interface Scheme {
  /** The scheme as the agent's card declares it. */
  readonly card: SecurityScheme
  /** Its part of `WWW-Authenticate`. */
  challenge(options: ChallengeOptions): string
  /** `networkOf` returns the network from which a request came, as far as it is known. */
  authenticate(request: AuthRequest, networkOf?: NetworkOf): AuthResult | Promise<AuthResult>
  /** The server has to request a certificate when a caller connects. */
  readonly needsCertificate?: boolean
  /** The party that assigns the ids of its principals, if they are used unchanged. Ids of two authorities must not mix. */
  readonly authority?: string
}

/** The parts of a request that can hold credentials. */
export type AuthRequest = Pick<Incoming, 'method' | 'path' | 'query' | 'header' | 'certificate' | 'secure' | 'address'>

export type NetworkOf = (request: AuthRequest) => string | undefined

/** Undefined if the request has no credentials of this kind. */
export type AuthResult = AuthSuccess | AuthFailure | undefined

export interface AuthSuccess {
  readonly principal: Principal
  /** The key to which the credentials are bound: the `cnf` claim (RFC 7800). */
  readonly confirmation?: Json
  /** The scheme returns this object, unchanged, for the same credentials only. What follows from it is then found out once. */
  readonly isKept?: true
}

export interface AuthFailure {
  /** Why the credentials were rejected. It is logged for the operator; callers do not see it. */
  readonly reason: string
  /** An error of the server's own, such as an unreachable key set. */
  readonly cause?: unknown
}

export interface ChallengeOptions {
  readonly realm: string
  /** Scopes that the credentials must have, all of them. */
  readonly scopes: readonly string[]
  /** What is wrong with the credentials of the request (RFC 6750 §3.1). */
  readonly error?: 'invalid_token' | 'insufficient_scope'
}

export function authFailure(reason: string, cause?: unknown): AuthFailure {
  return cause === undefined ? { reason } : { reason, cause }
}

/** The same principal, with the expiry of its credentials (milliseconds since 1970) unless it has its own. */
export function withExpiry(success: AuthSuccess, expires: number): AuthSuccess {
  return { ...success, principal: { expires, ...success.principal } }
}

/**
 * The credentials after this scheme in `Authorization`. Undefined without the header, or if it names another scheme. Two
 * headers arrive joined by a comma, which credentials cannot contain.
 */
export function authorizationOf(request: AuthRequest, scheme: string): string | AuthFailure | undefined {
  const header = request.header('authorization')?.trim()
  if (header === undefined) return undefined
  const end = header.search(/\s/)
  if ((end < 0 ? header : header.slice(0, end)).toLowerCase() !== scheme) return undefined
  if (header.length > maxCredentials) return authFailure('the credentials are too long')
  const credentials = header.slice(scheme.length).trimStart()
  if (!token68.test(credentials)) return authFailure('Authorization is malformed, or was sent twice')
  return credentials
}

/** The only value of a header, a query parameter or a cookie. */
export function credentialIn(request: AuthRequest, location: string, name: string): string | AuthFailure | undefined {
  const values = valuesIn(request, location, name)
  const [value] = values
  if (value === undefined) return undefined
  if (values.length > 1) return authFailure(`${name} was sent more than once`)
  if (value.length > maxCredentials) return authFailure('the credentials are too long')
  return value
}

/** Builds `WWW-Authenticate`: one challenge for every scheme that the requirements name. */
export function challengesOf(schemes: Readonly<Record<string, Scheme>>, realm: string) {
  return (
    requirements: readonly SecurityRequirement[],
    error?: ChallengeOptions['error'],
    missingScopes?: readonly string[],
  ): string => {
    const scopes = new Map<string, readonly string[]>()
    for (const [name, required] of requirements.flatMap(Object.entries<readonly string[]>)) {
      if (Object.hasOwn(schemes, name) && !scopes.has(name)) scopes.set(name, missingScopes ?? required)
    }
    const challenges = [...scopes].map(([name, scopes]) => schemes[name]?.challenge(defined({ realm, scopes, error })))
    return [...new Set(challenges)].join(', ')
  }
}

/** The challenge of schemes that take a bearer token (RFC 6750 §3). */
export function bearerChallenge({ realm, scopes, error }: ChallengeOptions): string {
  return challengeOf('Bearer', { realm, scope: scopes.join(' '), error })
}

/** One challenge: a scheme and its parameters (RFC 9110 §11.3). */
export function challengeOf(scheme: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '')
  return `${scheme} ${set.map(([name, value]) => `${name}=${quoted(value ?? '')}`).join(', ')}`.trimEnd()
}

function valuesIn({ header, query }: AuthRequest, location: string, name: string): readonly string[] {
  if (location === 'query') return query === '' ? [] : new URLSearchParams(query).getAll(name)
  if (location === 'header') {
    const value = header(name.toLowerCase())
    return value === undefined ? [] : [value]
  }
  const cookies = header('cookie')?.split(';') ?? []
  return cookies.flatMap((cookie) => {
    const at = cookie.indexOf('=')
    return at > 0 && cookie.slice(0, at).trim() === name ? [cookie.slice(at + 1).trim()] : []
  })
}

/** A header can carry only printable ASCII. */
function quoted(text: string): string {
  return `"${text.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
