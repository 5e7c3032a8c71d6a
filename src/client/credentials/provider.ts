import type { Fetch } from '../../http/outbound.ts'
import type { SecurityScheme } from '../../protocol/security.ts'
import type { Credentials } from '../authorize.ts'

/** Where somebody has credentials for. One is a value, so that who does not use it does not load it. */
export interface CredentialProvider {
  /** Whether it has what a scheme of the card asks for. */
  fits(scheme: SecurityScheme): boolean
  credentialsFor(need: Need): Credentials | Promise<Credentials>
  /** The scheme that it fits where none is known, because the card itself is protected. */
  readonly assumed?: SecurityScheme
}

/** What is needed for a request. */
export interface Need {
  readonly scheme: SecurityScheme
  readonly scopes: readonly string[]
  /** Without credentials: to ask those who give them out. */
  readonly fetch: Fetch
  /** What was sent before, and did not do. */
  readonly refused?: Credentials
}

/** A secret, or what gives the one that is valid now. */
export type Secret = string | (() => string | Promise<string>)

export async function reveal(secret: Secret): Promise<string> {
  return typeof secret === 'string' ? secret : await secret()
}
