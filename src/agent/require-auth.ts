import type { Principal } from '../protocol/model.ts'

/** What a task needs before it can go on. */
export interface AuthNeed {
  /** The name of one of the agent's own schemes, or a word for what is needed, such as `github` or `Bearer`. */
  readonly scheme: string
  readonly scopes?: readonly string[]
  /** For people. */
  readonly description?: string
  /** Where to go for it. */
  readonly url?: string
}

export interface RequireAuthOptions {
  /** Until when: a date, its ISO text, or milliseconds since 1970. Then the task fails. Not together with `outOfBand`. */
  readonly expiresAt?: Date | string | number
  /** Gives the credentials if they come by another way than A2A, such as a page that the user visits. */
  readonly outOfBand?: (signal: AbortSignal) => Promise<string>
}

/** Credentials for a task. They are only in the memory of this process. */
export interface GivenAuth {
  readonly scheme: string
  /** By a part or the metadata of a message, by the credentials of the request that brought it, or by another way. */
  readonly by: 'message' | 'request' | 'out-of-band'
  /** Who gave them. */
  readonly principal: Principal
  /** The secret itself. Throws if it was given to a process that is gone: it is never stored. */
  secret(): string
}

/**
 * Makes the task `auth-required` and gives the credentials when they come. At once if the message, or the request that
 * brought it, has them already.
 */
export type RequireAuth = (need: AuthNeed | string, options?: RequireAuthOptions) => Promise<GivenAuth>
