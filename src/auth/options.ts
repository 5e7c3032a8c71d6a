import type { SecurityRequirement } from '../protocol/security.ts'
import type { Scheme } from './scheme.ts'

/** Who may call, declared once: what is checked, what cards say, and how callers without credentials are answered. */
export interface AuthOptions {
  /** By the names that cards give them. */
  readonly schemes?: Readonly<Record<string, Scheme>>
  /**
   * One of these must be met: all the schemes that it names, each with all its scopes. Any one of the schemes, with any
   * scopes, by default.
   */
  readonly require?: readonly SecurityRequirement[]
  /** Lets in callers without credentials. They reach a task by its id, and list the tasks of a context they name. */
  readonly anonymous?: boolean | AnonymousOptions
}

export interface AnonymousOptions {
  /** Lets callers without credentials list the tasks of all of them. */
  readonly listAll?: boolean
}
