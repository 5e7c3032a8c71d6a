import { fromBase64 } from '../../base/base64.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/model.ts'
import { matchesPassword, readPassword, type StoredPassword } from '../password.ts'
import { type AuthResult, authFailure, authorizationOf, challengeOf, type Scheme } from '../scheme.ts'
import { createTokenCache } from '../token-cache.ts'

/** Checking a password is made to cost much: so many are checked at once, and no more wait. */
const maxChecks = 16

/** A password that was right is known to be right for so many milliseconds. */
const rememberFor = 60_000

export interface BasicUser extends Pick<Principal, 'tenant' | 'scopes' | 'claims'> {
  /** As `hashPassword` gives it. */
  readonly password: string
}

export interface BasicOptions {
  /** By their names, which are also their ids. */
  readonly users: Readonly<Record<string, BasicUser>>
  readonly description?: string
}

/** HTTP Basic (RFC 7617). Only over TLS: the password itself is in every request. */
export function basic({ users, description }: BasicOptions): Scheme {
  const known = new Map(Object.entries(users).map(([name, user]) => [name, { ...user, stored: readUser(name, user) }]))
  const [someone] = known.values()
  if (!someone) throw new TypeError('basic(): expected at least one user')
  const verified = createTokenCache<AuthResult>()
  let checks = 0

  const check = async (name: string, password: string): Promise<AuthResult> => {
    if (checks >= maxChecks)
      throw new A2AError('unavailable', 'Too many passwords are being checked.', { retryAfter: 1 })
    checks++
    try {
      // For a name that nobody has, the same work is done.
      const { stored, password: _, ...user } = known.get(name) ?? someone
      const isRight = await matchesPassword(password, stored)
      return isRight && known.has(name)
        ? { principal: { id: name, ...user } }
        : authFailure('name or password is wrong')
    } finally {
      checks--
    }
  }

  return {
    card: { type: 'http', scheme: 'basic', ...(description !== undefined && { description }) },
    challenge: ({ realm }) => challengeOf('Basic', { realm, charset: 'UTF-8' }),
    authenticate(presented) {
      const credentials = authorizationOf(presented, 'basic')
      if (typeof credentials !== 'string') return credentials
      const pair = decode(credentials)
      if (!pair) return authFailure('it is not a name and a password')
      return verified.of(credentials, async () => {
        const value = await check(...pair)
        return value && 'principal' in value ? { value, until: Date.now() + rememberFor } : { value }
      })
    },
  }
}

function readUser(name: string, { password }: BasicUser): StoredPassword {
  const stored = readPassword(password)
  if (!stored) throw new TypeError(`basic(): expected the password of ${name} as hashPassword gives it`)
  return stored
}

function decode(credentials: string): [name: string, password: string] | undefined {
  try {
    const bytes = fromBase64(credentials)
    if (bytes === undefined) return undefined
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const at = text.indexOf(':')
    return at < 0 ? undefined : [text.slice(0, at), text.slice(at + 1)]
  } catch {
    return undefined
  }
}
