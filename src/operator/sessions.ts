import { type Auth, createAuth } from '../core/auth/auth.ts'
import { createPasswordChecks } from '../core/auth/password-checks.ts'
import type { AuthRequest } from '../core/auth/scheme.ts'
import { toBase64 } from '../core/base/base64.ts'
import { BoundedMap } from '../core/base/bounded-map.ts'
import { sha256, toHex } from '../core/base/hash.ts'
import { defined } from '../core/base/json.ts'
import type { Logger } from '../core/base/logger.ts'
import type { OperatorValues } from '../core/base/operator-state.ts'
import { callerNetwork } from '../core/http/caller-address.ts'
import type { Incoming } from '../core/http/exchange.ts'
import type { SecurityScheme } from '../core/protocol/card.ts'
import { A2AError } from '../core/protocol/errors.ts'
import { anonymous, type Principal } from '../core/protocol/model.ts'
import { type ConsoleAccess, randomText } from './access.ts'
import type { Login, LoginScheme, OperatorRole } from './contract.ts'
import { invalid, OperatorFailure } from './failures.ts'

const defaultLifetime = 8 * 60 * 60 * 1000

/** Credentials that are remembered as right, and for how long, in milliseconds. Only their hashes are kept. */
const maxAccepted = 1_000
const acceptedFor = 60 * 60 * 1000

/** Cookies of a request that are looked up. */
const maxCookies = 16

/** Characters from which on a key or a token cannot be guessed. */
const minRandomLength = 32

/** An operator whose request was accepted. */
export interface OperatorSession {
  readonly role: OperatorRole
  readonly principal: Principal
  /** Whether the server needs no login. */
  readonly isOpen: boolean
  /** When the session ends, in milliseconds since 1970. */
  readonly expires?: number | undefined
}

/** Finds, begins and ends the sessions of operators. */
export interface Sessions {
  /** Throws `unauthenticated`, with the ways to log in, if the request has neither a session nor credentials. */
  require(incoming: Incoming): Promise<OperatorSession>
  /** Begins a session by credentials. The cookie belongs into the answer. Throws if they are not accepted. */
  login(incoming: Incoming, login: Login): Promise<Begun>
  /** Begins the session of an operator who needs no further credentials. */
  begin(incoming: Incoming, principal: Principal): Promise<Begun>
  /** Ends the session of a request, on every replica. The cookie belongs into the answer. */
  logout(incoming: Incoming): Promise<string | undefined>
}

/** Where browsers send the cookie of a session. */
export interface CookieScope {
  /** Browsers send a cookie to every port of a host: the port is part of the name, so that servers keep apart. */
  readonly name: string
  /** The path of the console, as browsers see it. */
  readonly path: string
  /** Whether browsers reach the console over TLS. */
  readonly isSecure: boolean
}

export interface Begun {
  readonly session: OperatorSession
  /** Undefined if the server needs no login. */
  readonly cookie?: string
}

export interface SessionsOptions extends ConsoleAccess {
  readonly scopeOf: (incoming: Incoming) => CookieScope
  readonly trustProxy?: boolean | undefined
  readonly logger: Logger
  /** Where sessions are stored. Replicas that share it share the sessions. */
  readonly values: () => OperatorValues
  readonly now?: () => number
}

/**
 * A session is a random id in a cookie, and its principal in the store, under the hash of the id: a reader of the store
 * cannot continue a session, and a logout is valid at once on every replica.
 */
export function createSessions(options: SessionsOptions): Sessions {
  const { roles = () => 'operator', sessionLifetime = defaultLifetime, scopeOf, trustProxy, logger } = options
  const { now = Date.now } = options
  if (options.auth === 'none') return openSessions
  const auth = createAuth(options.auth, { realm: 'Parley console', logger, trustProxy })
  const schemes = loginSchemes(auth)
  const { identify, guess, identifyCaller } = createIdentification(auth, { trustProxy, now })

  /** The role is decided for every request: it may have changed since the login. */
  function sessionOf(principal: Principal, expires: number | undefined): OperatorSession {
    const role = roles(principal)
    if (role === 'viewer' || role === 'operator') return { role, principal, isOpen: false, expires }
    throw new OperatorFailure(403, 'forbidden', 'This account may not use the console.')
  }

  async function findStored(incoming: Incoming): Promise<OperatorSession | undefined> {
    for (const id of sessionIds(incoming)) {
      const text = await options.values().get(storedName(id))
      if (text === undefined) continue
      const { principal, expires } = JSON.parse(text) as StoredSession
      if (expires > now()) return sessionOf(principal, expires)
    }
    return undefined
  }

  function unauthenticated(message: string): OperatorFailure {
    return new OperatorFailure(401, 'unauthenticated', message, { schemes })
  }

  async function begin(incoming: Incoming, principal: Principal): Promise<Begun> {
    const expires = Math.min(now() + sessionLifetime, principal.expires ?? Number.POSITIVE_INFINITY)
    const session = sessionOf(principal, expires)
    const id = randomText()
    const stored: StoredSession = { principal, expires }
    await options.values().set(storedName(id), JSON.stringify(stored), expires)
    logger.info({ principal: principal.id, role: session.role }, 'an operator logged in')
    const seconds = Math.max(0, Math.floor((expires - now()) / 1000))
    return { session, cookie: cookieText(id, scopeOf(incoming), seconds) }
  }

  return {
    begin,

    async require(incoming) {
      const stored = await findStored(incoming)
      if (stored) return stored
      const principal = await identifyCaller(incoming)
      if (principal) return sessionOf(principal, principal.expires)
      throw unauthenticated('Log in, or send the credentials of an operator.')
    },

    async login(incoming, login) {
      const scheme = Object.hasOwn(auth.securitySchemes, login.scheme) ? auth.securitySchemes[login.scheme] : undefined
      if (!scheme) throw invalid('scheme', `expected one of ${schemes.map(({ name }) => name).join(', ')}`)
      const request = withCredentials(incoming, scheme, login)
      const principal = await (fieldsOf(scheme) === 'secret'
        ? guess(incoming, request, [login.secret ?? ''])
        : identify(request))
      if (!principal) throw unauthenticated('The credentials were not accepted.')
      return await begin(incoming, principal)
    },

    async logout(incoming) {
      for (const id of sessionIds(incoming)) await options.values().delete(storedName(id))
      return cookieText('', scopeOf(incoming), 0)
    },
  }
}

interface IdentificationOptions {
  readonly trustProxy: boolean | undefined
  readonly now: () => number
}

/** Finds the principals of operators, and slows down guesses. */
function createIdentification(auth: Auth, { trustProxy, now }: IdentificationOptions) {
  const checks = createPasswordChecks(now)
  const accepted = new BoundedMap<string, true>(maxAccepted, now)

  /** Undefined if the credentials of the request are missing or wrong. */
  async function identify(request: AuthRequest): Promise<Principal | undefined> {
    try {
      return await auth.authenticate(request)
    } catch (error) {
      if (error instanceof A2AError && error.code === 'unauthenticated') return undefined
      throw error
    }
  }

  /** Wrong keys and tokens are slowed down like wrong passwords, which their scheme slows down: a form invites to guess. */
  async function guess(
    incoming: Incoming,
    request: AuthRequest,
    secrets: readonly string[],
  ): Promise<Principal | undefined> {
    const isGuessable = secrets.some(({ length }) => length < minRandomLength)
    let principal: Principal | undefined
    await checks.runAtOnce(callerNetwork(incoming, { trustProxy }), isGuessable, async () => {
      principal = await identify(request)
      return principal !== undefined
    })
    return principal
  }

  /**
   * Identifies a caller without a session. Guessed keys and tokens are slowed down here as well, but callers whose
   * credentials were right before do not wait for others of their network to stop guessing.
   */
  async function identifyCaller(incoming: Incoming): Promise<Principal | undefined> {
    const secrets = Object.values(auth.securitySchemes).flatMap((scheme) => secretIn(incoming, scheme) ?? [])
    if (secrets.length === 0) return await identify(incoming)
    const digest = toHex(sha256(JSON.stringify(secrets)))
    if (accepted.get(digest)) return await identify(incoming)
    const principal = await guess(incoming, incoming, secrets)
    if (principal) accepted.set(digest, true, now() + acceptedFor)
    return principal
  }

  return { identify, guess, identifyCaller }
}

/** Without login, every caller is an operator: only callers of this machine reach such a server. */
const openSession: OperatorSession = { role: 'operator', principal: anonymous, isOpen: true }
const openSessions: Sessions = {
  require: async () => openSession,
  login: async () => ({ session: openSession }),
  begin: async () => ({ session: openSession }),
  logout: async () => undefined,
}

interface StoredSession {
  readonly principal: Principal
  readonly expires: number
}

function storedName(id: string): string {
  return `session ${toHex(sha256(id))}`
}

/** The ids in the cookies of a request. Behind a proxy, replicas may see different ports, so the port does not matter here. */
function sessionIds({ header }: Incoming): readonly string[] {
  const found = (header('cookie') ?? '').matchAll(/(?:^|; *)parley-console(?:-\d{1,5})?=([\w-]{43})(?=;|$)/g)
  return [...found].slice(0, maxCookies).flatMap(([, id]) => id ?? [])
}

function cookieText(value: string, { name, path, isSecure }: CookieScope, maxAge: number): string {
  const flags = `Path=${path}; HttpOnly; SameSite=Strict; Max-Age=${maxAge}`
  return `${name}=${value}; ${flags}${isSecure ? '; Secure' : ''}`
}

/** The schemes as the login form shows them. */
function loginSchemes({ securitySchemes }: Auth): readonly LoginScheme[] {
  return Object.entries(securitySchemes).map(([name, scheme]) =>
    defined({ name, fields: fieldsOf(scheme), description: scheme.description }),
  )
}

function fieldsOf(scheme: SecurityScheme): LoginScheme['fields'] {
  if (scheme.type === 'mutual-tls') return 'none'
  return scheme.type === 'http' && scheme.scheme.toLowerCase() === 'basic' ? 'password' : 'secret'
}

/** The key or the token of a request, where the scheme looks for it. Passwords are slowed down by their scheme. */
function secretIn({ header, query }: Incoming, scheme: SecurityScheme): string | undefined {
  if (fieldsOf(scheme) !== 'secret') return undefined
  if (scheme.type !== 'api-key') {
    const authorization = header('authorization')
    return authorization === undefined || /^basic /i.test(authorization) ? undefined : authorization
  }
  if (scheme.location === 'query') return new URLSearchParams(query).get(scheme.name) ?? undefined
  if (scheme.location === 'header') return header(scheme.name.toLowerCase())
  const pairs = (header('cookie') ?? '').split(';').map((pair) => pair.trim())
  return pairs.find((pair) => pair.startsWith(`${scheme.name}=`))
}

/** The same request with the credentials of the form, where the scheme looks for them, and no others. */
function withCredentials(incoming: Incoming, scheme: SecurityScheme, { user = '', secret = '' }: Login) {
  const { method, path, secure } = incoming
  const headers = new Map<string, string>()
  let query = ''
  if (scheme.type === 'api-key') {
    if (scheme.location === 'query') query = `${new URLSearchParams([[scheme.name, secret]])}`
    else if (scheme.location === 'cookie') headers.set('cookie', `${scheme.name}=${secret}`)
    else headers.set(scheme.name.toLowerCase(), secret)
  } else if (fieldsOf(scheme) === 'password') {
    const bytes = new TextEncoder().encode(`${user}:${secret}`)
    headers.set('authorization', `Basic ${toBase64(bytes)}`)
  } else if (scheme.type !== 'mutual-tls') headers.set('authorization', `Bearer ${secret}`)
  const credentials = new Set(['authorization', 'cookie', ...headers.keys()])
  return {
    method,
    path,
    secure,
    query,
    header: (name: string) => headers.get(name) ?? (credentials.has(name) ? undefined : incoming.header(name)),
    certificate: () => (scheme.type === 'mutual-tls' ? incoming.certificate() : undefined),
    address: () => incoming.address?.(),
  }
}
