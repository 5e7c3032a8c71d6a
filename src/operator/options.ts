import type { AuthOptions } from '../core/auth/auth.ts'
import { aFunction, anObject, anyOf, group, milliseconds, type OptionChecks, oneOf } from '../core/base/options.ts'
import type { Principal } from '../core/protocol/model.ts'
import type { OperatorRole } from './contract.ts'

/** Where the console is served. Its paths, its cookie and its links begin with it. */
export const consolePath = '/console'

/** Options of the console, a web application for operators, and of the API behind it. */
export interface ConsoleOptions {
  /**
   * Which operators may log in, by the same schemes as callers of an agent. Defaults to the key of this server, in the
   * file `operator-key` of its `directory`, if only this machine can call the server. `'none'` accepts every caller of
   * this machine, and is refused if other machines can call the server.
   */
  readonly auth?: ConsoleAuth
  /** The role of an operator; undefined refuses the login. Defaults to `operator` for every principal that `auth` accepts. */
  readonly roles?: (principal: Principal) => OperatorRole | undefined
  /** How long a login is valid, in milliseconds. It ends earlier if the credentials do. Defaults to 8 hours. */
  readonly sessionLifetime?: number
}

/** Which operators may log in to the console: schemes as in `auth`, or `'none'` on this machine only. */
export type ConsoleAuth = Omit<AuthOptions, 'anonymous'> | 'none'

const consoleChecks: OptionChecks<ConsoleOptions> = {
  auth: anyOf("an object such as { schemes }, or 'none'", oneOf('none'), anObject),
  roles: aFunction,
  sessionLifetime: milliseconds({ min: 1_000, infinite: false }),
}

/** Checks `console` where a server is created. */
export const checkConsole = anyOf(
  'false, or an object with auth, roles, sessionLifetime',
  oneOf(false),
  group(consoleChecks),
)

/** What decides whether a server has a console. */
export interface ConsoleChoice {
  /** The function that the user calls, for errors. */
  readonly caller: string
  /** The option `console`. */
  readonly console: ConsoleOptions | false | undefined
  /** Whether only this machine can call the server. */
  readonly isLocal: boolean
}

/**
 * The options of the console. Without `console`, it is served where only this machine can call. Undefined if it is off.
 * Throws if it would be open to other machines.
 */
export function readConsoleOptions({ caller, console, isLocal }: ConsoleChoice): ConsoleOptions | undefined {
  if (console === false) return undefined
  if (console === undefined) return isLocal ? {} : undefined
  if (console.auth === undefined && !isLocal) {
    throw new TypeError(
      `${caller}: console.auth: other machines can call this server. Say which operators may log in, such as { schemes: … }.`,
    )
  }
  if (console.auth === 'none' && !isLocal) {
    throw new TypeError(
      `${caller}: console.auth: 'none' would let other machines operate the agents. Declare schemes: console: { auth: { schemes: … } }.`,
    )
  }
  return console
}
