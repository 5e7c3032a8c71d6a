import type { Principal } from '../protocol/model.ts'

/** The credentials that a task needs. */
export interface AuthNeed {
  /** The name of one of the agent's security schemes, or of another system, such as `github`. */
  readonly scheme: string
  readonly scopes?: readonly string[]
  /** Shown to the user. */
  readonly description?: string
  /** Where the user can get the credentials. */
  readonly url?: string
}

/** Options of `turn.requireAuth`. */
export interface RequireAuthOptions {
  /**
   * When the task fails if no credentials have come: a date, an ISO string, or milliseconds since 1970. Not together with
   * `outOfBand`.
   */
  readonly expiresAt?: Date | string | number
  /** Resolves with credentials that come outside of A2A, such as through a page that the user visits. */
  readonly outOfBand?: (signal: AbortSignal) => Promise<string>
}

/** Credentials for a task. They exist only in the memory of this process. */
export interface GivenAuth {
  readonly scheme: string
  /** Whether they came in a message, with the request that brought it, or outside of A2A. */
  readonly by: 'message' | 'request' | 'out-of-band'
  /** The caller that sent them. */
  readonly principal: Principal
  /** Returns the secret. Throws if the process that received it is gone: it is never stored. */
  secret(): string
}

/**
 * Sets the task to `auth-required` and resolves with the credentials when they come. Resolves at once if the message, or
 * the request that brought it, has them.
 */
export type RequireAuth = (need: AuthNeed | string, options?: RequireAuthOptions) => Promise<GivenAuth>
