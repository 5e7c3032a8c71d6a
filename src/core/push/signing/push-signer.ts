import { SignJWT } from 'jose'
import { createKeyRing, type KeyRing, type SigningKey } from '../../auth/key-ring.ts'
import { toHex } from '../../base/hash.ts'
import { aFunction, anObject, checkOptions, httpUrl, isAbove, oneOf } from '../../base/options.ts'
import { type PushRequest, pushHeaders, type SignPush } from '../request.ts'
import { digest, httpSignature, type Signing } from './http-signature.ts'

/** The name of the first header whose value differs from the claim in the token. */
export function mismatchedHeader(
  claims: Readonly<Record<string, unknown>>,
  header: (name: string) => string | undefined,
): string | undefined {
  for (const [claim, name] of Object.entries(claimHeaders)) {
    const value = header(name)
    if (value !== undefined && claims[claim] !== value) return name
  }
  return undefined
}

/** Options of `pushSigner`. */
export interface PushSignerOptions {
  /** The keys that are published at `/.well-known/jwks.json` of the issuer. */
  readonly keys: KeyRing | SigningKey
  /** The URL of the agent, such as `https://agent.example.com`. */
  readonly issuer: string
  /**
   * A JSON Web Token (`jwt`), which receivers of every A2A library can verify; an HTTP message signature by RFC 9421
   * (`http-signature`); or `both`. Defaults to `jwt`.
   */
  readonly form?: 'jwt' | 'http-signature' | 'both'
  /** How long a signature is valid, in seconds. Defaults to 5 minutes. */
  readonly lifetime?: number
  readonly now?: () => number
}

/** Creates a function that signs deliveries; pass it as `push.sign`. */
export function pushSigner(options: PushSignerOptions): SignPush<string | Uint8Array> {
  const checks = {
    keys: anObject,
    issuer: httpUrl,
    form: oneOf('jwt', 'http-signature', 'both'),
    lifetime: isAbove(0),
    now: aFunction,
  }
  checkOptions('pushSigner', options, checks, ['keys', 'issuer'])
  const { issuer, form = 'jwt', lifetime = 300, now = Date.now } = options
  const ring = 'kid' in options.keys ? createKeyRing(options.keys) : options.keys

  return async ({ url, headers, body }) => {
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
    const request = { url: withoutFragment(url), headers, body: bytes }
    const created = Math.floor(now() / 1000)
    const requestHeaders = new Headers(headers)
    const deliveryId = requestHeaders.get(pushHeaders.deliveryId) ?? crypto.randomUUID()
    const signing = { key: ring.current(), created, expires: created + lifetime, deliveryId }
    const added: Record<string, string> = {}
    if (form !== 'jwt') Object.assign(added, await httpSignature(request, signing))
    if (form !== 'http-signature') Object.assign(added, await signToken(request, requestHeaders, issuer, signing))
    return added
  }
}

/** The headers that a token repeats as claims, so that they cannot be changed in transit. */
const claimHeaders = {
  taskId: pushHeaders.taskId,
  generation: pushHeaders.generation,
  previousGeneration: pushHeaders.previous,
  attempt: pushHeaders.attempt,
} as const

function withoutFragment(url: string): string {
  const parsed = new URL(url)
  parsed.hash = ''
  return parsed.href
}

/** The token goes into `Authorization`, as A2A specifies, unless that carries the credentials of the config. */
async function signToken(
  { url, body }: PushRequest<Uint8Array>,
  requestHeaders: Headers,
  issuer: string,
  { key, created, expires, deliveryId }: Signing,
): Promise<Readonly<Record<string, string>>> {
  const token = await new SignJWT({
    ...signedClaims((name) => requestHeaders.get(name) ?? undefined),
    request_body_sha256: toHex(await digest('SHA-256', body)),
  })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(url)
    .setIssuedAt(created)
    .setExpirationTime(expires)
    .setJti(deliveryId)
    .sign(key.key)
  return requestHeaders.has(pushHeaders.authorization)
    ? { [pushHeaders.signature]: token }
    : { [pushHeaders.authorization]: `Bearer ${token}` }
}

function signedClaims(header: (name: string) => string | undefined): Claims {
  const claims: Record<string, string> = {}
  for (const [claim, name] of Object.entries(claimHeaders)) {
    const value = header(name)
    if (value !== undefined) claims[claim] = value
  }
  return claims
}

type Claims = Readonly<Partial<Record<keyof typeof claimHeaders, string>>>
