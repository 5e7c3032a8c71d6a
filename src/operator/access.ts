import { toBase64Url } from '../core/base/base64.ts'
import { isEqual } from '../core/base/hash.ts'
import type { Principal } from '../core/protocol/model.ts'
import { type ConsoleAuth, type ConsoleOptions, consolePath } from './options.ts'

/** The name of the scheme by which operators log in with the key of their server. */
export const keyScheme = 'operator-key'

/** The header with the key of the server. */
export const keyHeader = 'X-API-Key'

/** The operator who has the key of the server. */
export const keyOperator: Principal = { id: 'operator' }

/** The options of a console, with the operators who may log in. */
export interface ConsoleAccess extends ConsoleOptions {
  readonly auth: ConsoleAuth
  /** Logs in once by the key of the server. Undefined if operators log in by credentials of their own. */
  readonly link?: LoginLink | undefined
}

/** The address of the console of a server at `origin`: a link that logs in once, if there is one. */
export function consoleUrlOf({ link }: ConsoleAccess, origin: string): string {
  return `${origin.replace(/\/+$/, '')}${link?.path ?? `${consolePath}/`}`
}

/** An address that begins a session of the console, once. */
export interface LoginLink {
  /** The path to open in a browser. */
  readonly path: string
  /** Whether the token of a request is the one of the link. It is valid once. */
  take(token: string): boolean
}

/** The query parameter of a link that has its token. */
export const linkParameter = 'login'

export function createLoginLink(): LoginLink {
  const token = randomText()
  let isUsed = false
  return {
    path: `${consolePath}/?${linkParameter}=${token}`,
    take(text) {
      if (isUsed || !isSame(text, token)) return false
      isUsed = true
      return true
    },
  }
}

/** 32 random bytes, for tokens and cookies. */
export function randomText(): string {
  return toBase64Url(crypto.getRandomValues(new Uint8Array(32)))
}

/** Compares in constant time. */
export function isSame(one: string, other: string): boolean {
  const encoder = new TextEncoder()
  const [first, second] = [encoder.encode(one), encoder.encode(other)]
  return first.length === second.length && isEqual(first, second)
}
