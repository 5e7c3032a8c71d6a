import { SignJWT } from 'jose'
import { type KeyRing, keyRing, type SigningKey } from '../../auth/key-ring.ts'
import { toHex } from '../../base/hash.ts'
import { type PushRequest, pushHeaders, type SignPush } from '../request.ts'
import { digest, httpSignature, type Signing } from './http-signature.ts'

/** The first header that says something else than the token, if there is one. */
export function contradiction(
  claims: Readonly<Record<string, unknown>>,
  header: (name: string) => string | undefined,
): string | undefined {
  for (const [claim, name] of Object.entries(claimHeaders)) {
    const value = header(name)
    if (value !== undefined && claims[claim] !== value) return name
  }
  return undefined
}

export interface PushSignerOptions {
  /** Those that are published at `/.well-known/jwks.json` below the issuer. */
  readonly keys: KeyRing | SigningKey
  /** Who signs: the address of the agent, such as `https://agent.example.com`. */
  readonly issuer: string
  /**
   * A token (`jwt`, the default), which receivers of every A2A library can check; a signature of the whole message by
   * RFC 9421 (`http-signature`); or both.
   */
  readonly form?: 'jwt' | 'http-signature' | 'both'
  /** Seconds for which a signature is good. 5 minutes by default. */
  readonly lifetime?: number
  readonly now?: () => number
}

/** Signs deliveries. */
export function pushSigner(options: PushSignerOptions): SignPush<string | Uint8Array> {
  const { issuer, form = 'jwt', lifetime = 300, now = Date.now } = options
  if (!URL.canParse(issuer)) throw new TypeError(`pushSigner(): issuer: expected an address, got "${issuer}"`)
  const ring = 'kid' in options.keys ? keyRing(options.keys) : options.keys

  return async ({ url, headers, body }) => {
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
    const request = { url: withoutFragment(url), headers, body: bytes }
    const created = Math.floor(now() / 1000)
    const told = new Headers(headers)
    const deliveryId = told.get(pushHeaders.deliveryId) ?? crypto.randomUUID()
    const signing = { key: ring.current(), created, expires: created + lifetime, deliveryId }
    const added: Record<string, string> = {}
    if (form !== 'jwt') Object.assign(added, await httpSignature(request, signing))
    if (form !== 'http-signature') Object.assign(added, await jwt(request, told, issuer, signing))
    return added
  }
}

/** What of the head of a delivery a token says, too, so that nobody changes it on the way. */
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

/** In `Authorization`, where A2A has it, unless the config has credentials of its own for that. */
async function jwt(
  { url, body }: PushRequest<Uint8Array>,
  told: Headers,
  issuer: string,
  { key, created, expires, deliveryId }: Signing,
): Promise<Readonly<Record<string, string>>> {
  const token = await new SignJWT({
    ...signedClaims((name) => told.get(name) ?? undefined),
    request_body_sha256: toHex(await digest('SHA-256', body)),
  })
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(url)
    .setIssuedAt(created)
    .setExpirationTime(expires)
    .setJti(deliveryId)
    .sign(key.key)
  return told.has(pushHeaders.authorization)
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
