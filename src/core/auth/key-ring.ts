import { type CryptoKey, exportJWK, generateKeyPair, type JWK } from 'jose'
import { defined, isObject } from '../base/json.ts'
import { aFunction, checkOptions, isAbove } from '../base/options.ts'

/** Keys that are published at once. Older ones are left out. */
const maxPublished = 16

/** A private key that signs cards or pushed events, and the name of its public key. */
export interface SigningKey {
  readonly key: CryptoKey | JWK
  readonly kid: string
  readonly alg: 'ES256' | 'EdDSA'
  /** Required only if the private key is not extractable, because the public key cannot be derived from it then. */
  readonly publicKey?: CryptoKey | JWK
}

/** Options of `createKeyRing`. */
export interface KeyRingOptions {
  /** Seconds for which a key stays published after it was replaced. Defaults to a day. */
  readonly keepFor?: number
  readonly now?: () => number
}

/** The keys of a signer: the current one, and others that verifiers still need. */
export interface KeyRing {
  current(): SigningKey
  /** Signs with this key from now on. The previous key stays published: receivers may still verify its signatures. */
  rotate(next: SigningKey): void
  /** The public keys, for the page at `/.well-known/jwks.json`. */
  published(): Promise<readonly JWK[]>
}

/**
 * Creates a key ring that signs cards and webhooks. The first key signs. The others are only published: keys of before
 * a restart, or future keys.
 *
 * @example
 * const keys = createKeyRing(await newSigningKey('ES256'))
 * await serve(echo, { keys })
 */
export function createKeyRing(keys: SigningKey | readonly SigningKey[], options: KeyRingOptions = {}): KeyRing {
  checkOptions('createKeyRing', options, { keepFor: isAbove(-1), now: aFunction })
  const { keepFor = 86_400, now = Date.now } = options
  const [first, ...others] = Array.isArray(keys) ? (keys as readonly SigningKey[]) : [keys as SigningKey]
  if (!first) throw new TypeError('createKeyRing(): expected at least one key, got none')
  for (const key of [first, ...others]) requireSigningKey('createKeyRing()', key)
  let current = first
  let publishedOnly: readonly { readonly key: SigningKey; readonly until: number }[] = others.map((key) => ({
    key,
    until: Number.POSITIVE_INFINITY,
  }))

  return {
    current: () => current,
    rotate(next) {
      requireSigningKey('keyRing.rotate()', next)
      if (next.kid === current.kid) throw new TypeError(`keyRing.rotate(): "${next.kid}" is at work already`)
      const rest = publishedOnly.filter(({ key }) => key.kid !== next.kid)
      publishedOnly = [{ key: current, until: now() + keepFor * 1000 }, ...rest]
      current = next
    },
    async published() {
      publishedOnly = publishedOnly.filter(({ until }) => until > now()).slice(0, maxPublished - 1)
      return await Promise.all([current, ...publishedOnly.map(({ key }) => key)].map(publicJwk))
    },
  }
}

/** Creates a key, to be stored as JSON: `JSON.stringify(key)`. */
export async function newSigningKey(
  alg: SigningKey['alg'] = 'ES256',
  kid: string = crypto.randomUUID(),
): Promise<SigningKey & { readonly key: JWK }> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  return { key: await exportJWK(privateKey), kid, alg }
}

/** Throws at start, not when the first card is signed. The text never contains the key. */
function requireSigningKey(where: string, value: unknown): void {
  if (!isObject(value)) {
    throw new TypeError(
      `${where}: expected a key as newSigningKey() returns it, got ${value === null ? value : typeof value}`,
    )
  }
  const { key, publicKey, kid, alg } = value as Partial<SigningKey>
  if (typeof kid !== 'string' || kid === '') throw new TypeError(`${where}: expected a key with a name, its kid`)
  if (alg !== 'ES256' && alg !== 'EdDSA') {
    throw new TypeError(`${where}: the key "${kid}" needs alg: 'ES256' or 'EdDSA', got ${JSON.stringify(alg)}`)
  }
  const isPrivate = isObject(key) && (isCryptoKey(key) ? key.type === 'private' : typeof key.d === 'string')
  if (!key || !isPrivate) {
    throw new TypeError(`${where}: the key "${kid}" needs \`key\`, a private CryptoKey or JSON Web Key`)
  }
  if (publicKey || !isCryptoKey(key) || key.extractable) return
  throw new TypeError(`The key "${kid}" cannot be read, so it needs its \`publicKey\` beside it.`)
}

function isCryptoKey(key: CryptoKey | JWK): key is CryptoKey {
  return 'algorithm' in key && 'extractable' in key
}

/** Copies only public members, so that a private key is never published. */
async function publicJwk({ key, publicKey = key, kid, alg }: SigningKey): Promise<JWK> {
  const { kty, crv, x, y } = isCryptoKey(publicKey) ? await exportJWK(publicKey) : publicKey
  return defined({ kty, crv: crv || undefined, x: x || undefined, y: y || undefined, kid, alg, use: 'sig' })
}
