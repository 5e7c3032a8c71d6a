import type { SecurityScheme } from './card.ts'
import { anonymous, type Principal } from './model.ts'

/** Between tenant and id. No id has it: control characters are refused. */
const separator = '\u001f'

/** By whom tasks and keys are owned: one name for one principal of one tenant. */
export function ownerOf({ id, tenant }: Principal): string {
  return tenant === undefined ? id : `${tenantPrefix(tenant)}${id}`
}

export function isAnonymous({ id, tenant }: Principal): boolean {
  return id === anonymous.id && tenant === undefined
}

/** With which the owners of a tenant begin. */
export function tenantPrefix(tenant: string): string {
  return `${tenant}${separator}`
}

/** What proves to others who asks, as a request carries it. */
export interface Credentials {
  /** A cookie is one, too. */
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
}

/** What is needed for a request. */
export interface Need {
  readonly scheme: SecurityScheme
  readonly scopes: readonly string[]
  /** Without credentials: to ask those who give them out. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** What was sent before, and did not do. */
  readonly refused?: Credentials
}

/** Where somebody has credentials for. One is a value, so that who does not use it does not load it. */
export interface CredentialProvider {
  /** Whether it has what a scheme of the card asks for. */
  fits(scheme: SecurityScheme): boolean
  credentialsFor(need: Need): Credentials | Promise<Credentials>
  /** The scheme that it fits where none is known, because the card itself is protected. */
  readonly assumed?: SecurityScheme
}

export interface ExchangeRequest {
  readonly subjectToken: string
  /** For whom the token is. */
  readonly audience: string
  readonly scopes: readonly string[]
  readonly signal: AbortSignal
}

/** Gives a token for somebody else in exchange for the one with which a caller came (RFC 8693). */
export type TokenExchange = (asked: ExchangeRequest) => Promise<string>
