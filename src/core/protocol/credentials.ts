import type { SecurityScheme } from './card.ts'

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
