import type { Incoming } from '../http/exchange.ts'
import type { Json, Principal } from '../protocol/model.ts'
import type { SecurityScheme } from '../protocol/security.ts'

/** What of a request can hold credentials. */
export type Presented = Pick<Incoming, 'method' | 'path' | 'query' | 'header' | 'certificate' | 'secure'>

/** One way in which callers prove who they are. */
export interface Scheme {
  /** What the agent's card says of it. */
  readonly card: SecurityScheme
  /** Its part of `WWW-Authenticate`. */
  challenge(asked: Asked): string
  authenticate(presented: Presented): Verdict | Promise<Verdict>
  /** The server has to ask callers for a certificate when they connect. */
  readonly needsCertificate?: boolean
  /** Who chooses the ids of its principals, if they are taken as they come: two such schemes must not mix theirs. */
  readonly authority?: string
}

export interface Asked {
  readonly realm: string
  /** All of these, if there are any. */
  readonly scopes: readonly string[]
  /** What was wrong with what came, in the words of RFC 6750 §3.1. */
  readonly error?: 'invalid_token' | 'insufficient_scope'
}

/** Undefined if there are no credentials of this kind in the request. */
export type Verdict = Proven | Refused | undefined

export interface Proven {
  readonly principal: Principal
  /** The key to which the credentials are bound, as `cnf` says it. */
  readonly confirmation?: Json
}

export interface Refused {
  /** Why, for the operator. Callers are told nothing of it. */
  readonly refused: string
  /** What failed on our side, such as the way to the keys. */
  readonly cause?: unknown
}

/** The same, of credentials that are good until then: milliseconds since 1970. */
export function expiring(proven: Proven, expires: number): Proven {
  return { ...proven, principal: { expires, ...proven.principal } }
}

export function refused(reason: string, cause?: unknown): Refused {
  return cause === undefined ? { refused: reason } : { refused: reason, cause }
}
