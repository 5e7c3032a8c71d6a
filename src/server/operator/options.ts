import type { AuthOptions } from '../../auth/auth.ts'
import { aFunction, anyOf, group, milliseconds, type OptionChecks, object, oneOf } from '../../base/options.ts'
import type { Principal } from '../../protocol/model.ts'
import type { Role } from './contract.ts'

/** Where the console is served. Its paths, its cookie and its links begin with it. */
export const consolePath = '/console'

/** Options of the console, a web application for operators, and of the API behind it. */
export interface ConsoleOptions {
  /**
   * Which operators may log in, by the same schemes as callers of an agent. `'none'` accepts everyone, and is only
   * possible if no other machine can call the server.
   */
  readonly auth: ConsoleAuth
  /** The role of an operator; undefined refuses the login. Defaults to `operator` for every principal that `auth` accepts. */
  readonly roles?: (principal: Principal) => Role | undefined
  /** How long a login is valid, in milliseconds. It ends earlier if the credentials do. Defaults to 8 hours. */
  readonly sessionLifetime?: number
}

/** Which operators may log in to the console: schemes as in `auth`, or `'none'` on this machine only. */
export type ConsoleAuth = Omit<AuthOptions, 'anonymous'> | 'none'

const consoleChecks: OptionChecks<ConsoleOptions> = {
  auth: anyOf("an object such as { schemes }, or 'none'", oneOf('none'), object),
  roles: aFunction,
  sessionLifetime: milliseconds({ min: 1_000, infinite: false }),
}

/** Checks `console` where a server is created. */
export const checkConsole = anyOf(
  'false, or an object with auth, roles, sessionLifetime',
  oneOf(false),
  group(consoleChecks),
)
