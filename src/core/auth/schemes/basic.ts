import { fromBase64 } from '../../base/base64.ts'
import { BoundedMap } from '../../base/bounded-map.ts'
import { sha256, toHex } from '../../base/hash.ts'
import { defined } from '../../base/json.ts'
import { anObject, checkOptions, recordOf, text } from '../../base/options.ts'
import type { Principal } from '../../protocol/model.ts'
import { matchesPassword, readPassword, type StoredPassword } from '../password.ts'
import { createPasswordChecks } from '../password-checks.ts'
import { type AuthResult, authFailure, authorizationOf, challengeOf, type Scheme } from '../scheme.ts'
import { createTokenCache } from '../token-cache.ts'

/** Milliseconds for which a correct password is cached. */
const cacheFor = 60_000

/** Milliseconds for which a caller with a correct password does not wait for others of its network to stop guessing. */
const trustFor = 3_600_000

/** Credentials of which the result is remembered. */
const maxRemembered = 10_000

export interface BasicUser extends Pick<Principal, 'tenant' | 'scopes' | 'claims'> {
  /** The result of `hashPassword`. */
  readonly password: string
}

/** Options of `basic`. */
export interface BasicOptions {
  /** Users by name. The name is also the id of the principal. */
  readonly users: Readonly<Record<string, BasicUser>>
  readonly description?: string
}

/**
 * Accepts callers with a name and a password: HTTP Basic (RFC 7617). Use it only over TLS, because every request
 * contains the password.
 *
 * @example
 * const password = basic({ users: { ada: { password: await hashPassword('correct horse') } } })
 * await serve(echo, { auth: { schemes: { password } } })
 */
export function basic(options: BasicOptions): Scheme {
  checkOptions('basic', options, { users: recordOf(anObject), description: text }, ['users'])
  const { users, description } = options
  const accounts = new Map(
    Object.entries(users).map(([name, user]) => [name, { ...user, stored: readUser(name, user) }]),
  )
  const [anyAccount] = accounts.values()
  if (!anyAccount) throw new TypeError('basic(): expected at least one user')
  const cache = createTokenCache<AuthResult>()
  const checks = createPasswordChecks()
  /** Digests of correct credentials. */
  const trusted = new BoundedMap<string, true>(maxRemembered)
  /** Digests of wrong ones, by network: a client that repeats an outdated password is not guessing, and costs nothing. */
  const rejected = new BoundedMap<string, true>(maxRemembered)

  const check = async (header: string, credentials: Credentials, network: string | undefined): Promise<AuthResult> => {
    const { name, password } = credentials
    const digest = toHex(sha256(header))
    const attempt = `${digest} ${network}`
    if (rejected.has(attempt)) return authFailure('name or password is wrong')
    // An unknown name costs the same work, so that the duration does not reveal which names exist.
    const { stored, password: _, ...user } = accounts.get(name) ?? anyAccount
    const isCorrect = await checks.run(network, trusted.has(digest), async () => {
      const isMatch = await matchesPassword(password, stored)
      return isMatch && accounts.has(name)
    })
    if (!isCorrect) {
      rejected.set(attempt, true)
      return authFailure('name or password is wrong')
    }
    trusted.set(digest, true, Date.now() + trustFor)
    return { principal: { id: name, ...user } }
  }

  return {
    card: defined({ type: 'http', scheme: 'basic', description }),
    challenge: ({ realm }) => challengeOf('Basic', { realm, charset: 'UTF-8' }),
    authenticate(request, networkOf) {
      const header = authorizationOf(request, 'basic')
      if (typeof header !== 'string') return header
      const credentials = decodeCredentials(header)
      if (!credentials) return authFailure('the credentials are not a name and a password')
      return cache.get(header, async () => {
        const value = await check(header, credentials, networkOf?.(request))
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

interface Credentials {
  readonly name: string
  readonly password: string
}

function decodeCredentials(header: string): Credentials | undefined {
  const bytes = fromBase64(header)
  if (!bytes) return undefined
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    const at = text.indexOf(':')
    return at < 0 ? undefined : { name: text.slice(0, at), password: text.slice(at + 1) }
  } catch {
    return undefined
  }
}
