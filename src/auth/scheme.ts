import type { Json } from '../base/json.ts'
import type { Incoming } from '../http/exchange.ts'
import type { SecurityRequirement, SecurityScheme } from '../protocol/card.ts'
import type { Principal } from '../protocol/model.ts'

/** Longer than any token or key in use; what is longer is not even looked at. */
const maxCredentials = 16 * 1024

/** RFC 9110 §11.2. */
const token68 = /^[\w.~+/-]+=*$/

export interface AuthSuccess {
  readonly principal: Principal
  /** The key to which the credentials are bound, as `cnf` says it. */
  readonly confirmation?: Json
}

/** The same, of credentials that are good until then: milliseconds since 1970. */
export function withExpiry(proven: AuthSuccess, expires: number): AuthSuccess {
  return { ...proven, principal: { expires, ...proven.principal } }
}

/** What of a request can hold credentials. */
export type AuthRequest = Pick<Incoming, 'method' | 'path' | 'query' | 'header' | 'certificate' | 'secure'>

export interface AuthFailure {
  /** Why, for the operator. Callers are told nothing of it. */
  readonly reason: string
  /** What failed on our side, such as the way to the keys. */
  readonly cause?: unknown
}

/**
 * What stands behind this scheme in `Authorization`. Undefined if there is none, or one of another scheme. Two headers
 * come joined by a comma, which no credentials have in them.
 */
export function authorizationOf(presented: AuthRequest, scheme: string): string | AuthFailure | undefined {
  const header = presented.header('authorization')?.trim()
  if (header === undefined) return undefined
  const end = header.search(/\s/)
  if ((end < 0 ? header : header.slice(0, end)).toLowerCase() !== scheme) return undefined
  if (header.length > maxCredentials) return authFailure('the credentials are too long')
  const credentials = header.slice(scheme.length).trimStart()
  if (!token68.test(credentials)) return authFailure('Authorization is malformed, or was sent twice')
  return credentials
}

/** The one value of a header, a query parameter or a cookie. */
export function credentialIn(presented: AuthRequest, location: string, name: string): string | AuthFailure | undefined {
  const values = valuesIn(presented, location, name)
  const [value] = values
  if (value === undefined) return undefined
  if (values.length > 1) return authFailure(`${name} was sent more than once`)
  if (value.length > maxCredentials) return authFailure('the credentials are too long')
  return value
}

export interface ChallengeOptions {
  readonly realm: string
  /** All of these, if there are any. */
  readonly scopes: readonly string[]
  /** What was wrong with what came, in the words of RFC 6750 §3.1. */
  readonly error?: 'invalid_token' | 'insufficient_scope'
}

/** The same as most schemes have it that take a token. */
export function bearerChallenge({ realm, scopes, error }: ChallengeOptions): string {
  return challengeOf('Bearer', { realm, scope: scopes.join(' '), error })
}

/** Undefined if there are no credentials of this kind in the request. */
export type AuthResult = AuthSuccess | AuthFailure | undefined

/** One way in which callers prove who they are. */
export interface Scheme {
  /** What the agent's card says of it. */
  readonly card: SecurityScheme
  /** Its part of `WWW-Authenticate`. */
  challenge(asked: ChallengeOptions): string
  authenticate(presented: AuthRequest): AuthResult | Promise<AuthResult>
  /** The server has to ask callers for a certificate when they connect. */
  readonly needsCertificate?: boolean
  /** Who chooses the ids of its principals, if they are taken as they come: two such schemes must not mix theirs. */
  readonly authority?: string
}

/** The whole `WWW-Authenticate`: a challenge for every scheme that the requirements name. */
export function challengesOf(schemes: Readonly<Record<string, Scheme>>, realm: string) {
  return (
    requirements: readonly SecurityRequirement[],
    error?: ChallengeOptions['error'],
    lacking?: readonly string[],
  ): string => {
    const scopes = new Map<string, readonly string[]>()
    for (const [name, needed] of requirements.flatMap(Object.entries<readonly string[]>)) {
      if (Object.hasOwn(schemes, name) && !scopes.has(name)) scopes.set(name, lacking ?? needed)
    }
    const told = [...scopes].map(([name, needed]) =>
      schemes[name]?.challenge({ realm, scopes: needed, ...(error && { error }) }),
    )
    return [...new Set(told)].join(', ')
  }
}

export function authFailure(reason: string, cause?: unknown): AuthFailure {
  return cause === undefined ? { reason: reason } : { reason: reason, cause }
}

/** One challenge: a scheme and its parameters (RFC 9110 §11.3). */
export function challengeOf(scheme: string, parameters: Readonly<Record<string, string | undefined>>): string {
  const told = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '')
  return `${scheme} ${told.map(([name, value]) => `${name}=${quoted(value ?? '')}`).join(', ')}`.trimEnd()
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

/** A header can carry printable ASCII. */
function quoted(text: string): string {
  return `"${text.replace(/[^ -~]/g, '?').replace(/["\\]/g, '\\$&')}"`
}
