import { fromBase64 } from '../../base/base64.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { Principal } from '../../protocol/model.ts'
import { matchesPassword, readPassword, type StoredPassword } from '../password.ts'
import { type AuthResult, authFailure, authorizationOf, challengeOf, type Scheme } from '../scheme.ts'
import { createTokenCache } from '../token-cache.ts'

/** Password checks at once. They are slow by design, so further ones are rejected instead of queued. */
const maxChecks = 16

/** Milliseconds for which a correct password is cached. */
const cacheFor = 60_000

export interface BasicUser extends Pick<Principal, 'tenant' | 'scopes' | 'claims'> {
  /** The result of `hashPassword`. */
  readonly password: string
}

export interface BasicOptions {
  /** Users by name. The name is also the id of the principal. */
  readonly users: Readonly<Record<string, BasicUser>>
  readonly description?: string
}

/** HTTP Basic (RFC 7617). Use it only over TLS: every request contains the password. */
export function basic({ users, description }: BasicOptions): Scheme {
  const accounts = new Map(
    Object.entries(users).map(([name, user]) => [name, { ...user, stored: readUser(name, user) }]),
  )
  const [anyAccount] = accounts.values()
  if (!anyAccount) throw new TypeError('basic(): expected at least one user')
  const cache = createTokenCache<AuthResult>()
  let checks = 0

  const check = async (name: string, password: string): Promise<AuthResult> => {
    if (checks >= maxChecks) {
      throw new A2AError('unavailable', 'Too many passwords are being checked.', { retryAfter: 1 })
    }
    checks++
    try {
      // An unknown name costs the same work, so that the duration does not reveal which names exist.
      const { stored, password: _, ...user } = accounts.get(name) ?? anyAccount
      const isCorrect = await matchesPassword(password, stored)
      return isCorrect && accounts.has(name)
        ? { principal: { id: name, ...user } }
        : authFailure('name or password is wrong')
    } finally {
      checks--
    }
  }

  return {
    card: { type: 'http', scheme: 'basic', ...(description !== undefined && { description }) },
    challenge: ({ realm }) => challengeOf('Basic', { realm, charset: 'UTF-8' }),
    authenticate(request) {
      const credentials = authorizationOf(request, 'basic')
      if (typeof credentials !== 'string') return credentials
      const pair = decodeCredentials(credentials)
      if (!pair) return authFailure('the credentials are not a name and a password')
      return cache.get(credentials, async () => {
        const value = await check(...pair)
        return value && 'principal' in value ? { value, until: Date.now() + cacheFor } : { value }
      })
    },
  }
}

function readUser(name: string, { password }: BasicUser): StoredPassword {
  const stored = readPassword(password)
  if (!stored) throw new TypeError(`basic(): expected the password of ${name} as hashPassword gives it`)
  return stored
}

function decodeCredentials(credentials: string): [name: string, password: string] | undefined {
  const bytes = fromBase64(credentials)
  if (!bytes) return undefined
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const at = text.indexOf(':')
    return at < 0 ? undefined : [text.slice(0, at), text.slice(at + 1)]
  } catch {
    return undefined
  }
}
