import type { SecurityScheme } from './card.ts'
import { anonymous, type Principal } from './model.ts'

/** Separates tenant and id. Ids cannot contain it: control characters are rejected. */
const separator = '\u001f'

/** Returns the owner name of a principal: one string for one principal of one tenant, under which tasks are stored. */
export function ownerOf({ id, tenant }: Principal): string {
  return tenant === undefined ? id : `${tenantPrefix(tenant)}${id}`
}

export function isAnonymous({ id, tenant }: Principal): boolean {
  return id === anonymous.id && tenant === undefined
}

/** The prefix of the owner names of a tenant. */
export function tenantPrefix(tenant: string): string {
  return `${tenant}${separator}`
}

/** Credentials as a request carries them. */
export interface Credentials {
  /** Headers, including `cookie`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
}

/** A request for credentials, as a `CredentialProvider` receives it. */
export interface Need {
  readonly scheme: SecurityScheme
  readonly scopes: readonly string[]
  /** A fetch without credentials, for requests to an authorization server. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>
  /** The credentials of the previous attempt, which the agent rejected. */
  readonly refused?: Credentials
}

/** A source of credentials for one kind of security scheme. */
export interface CredentialProvider {
  /** Whether the provider has credentials for this scheme of the card. */
  fits(scheme: SecurityScheme): boolean
  credentialsFor(need: Need): Credentials | Promise<Credentials>
  /** The scheme to assume if the card itself is protected, so that its schemes are unknown. */
  readonly assumed?: SecurityScheme
}

/** A request to exchange a caller's token for a token of another audience. */
export interface ExchangeRequest {
  readonly subjectToken: string
  /** The audience of the new token. */
  readonly audience: string
  readonly scopes: readonly string[]
  readonly signal: AbortSignal
}

/** Exchanges the token of a caller for a token of another audience (RFC 8693). */
export type TokenExchange = (request: ExchangeRequest) => Promise<string>
