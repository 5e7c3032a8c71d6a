import { type CryptoKey, exportJWK, generateKeyPair, type JWK } from 'jose'

/** So many keys are published at once; of more, the oldest are left out. */
const maxPublished = 16

/** A private key that signs, and by what name others find the public one. Cards may be signed with it, too. */
export interface SigningKey {
  readonly key: CryptoKey | JWK
  readonly kid: string
  readonly alg: 'ES256' | 'EdDSA'
  /** Needed only where the private key cannot be read, so that the public one cannot be told from it. */
  readonly publicKey?: CryptoKey | JWK
}

export interface KeyRingOptions {
  /** Seconds for which a key is published after it was rotated out. A day by default. */
  readonly keepFor?: number
  readonly now?: () => number
}

/** The keys of one who signs: one at work, and those that others must still know. */
export interface KeyRing {
  current(): SigningKey
  /** Signs with this one from now on. The last one stays published for a while: what it signed is under way. */
  rotate(next: SigningKey): void
  /** The public halves, for the page at `/.well-known/jwks.json`. */
  published(): Promise<readonly JWK[]>
}

/** The first key signs. The others are only published: those of before a restart, or those to come. */
export function keyRing(
  keys: SigningKey | readonly SigningKey[],
  { keepFor = 86_400, now = Date.now }: KeyRingOptions = {},
): KeyRing {
  const [first, ...others] = 'kid' in keys ? [keys] : keys
  if (!first) throw new TypeError('keyRing(): expected at least one key, got none')
  for (const key of [first, ...others]) requireReadable(key)
  let current = first
  let kept: readonly { readonly key: SigningKey; readonly until: number }[] = others.map((key) => ({
    key,
    until: Number.POSITIVE_INFINITY,
  }))

  return {
    current: () => current,
    rotate(next) {
      requireReadable(next)
      if (next.kid === current.kid) throw new TypeError(`keyRing.rotate(): "${next.kid}" is at work already`)
      const rest = kept.filter(({ key }) => key.kid !== next.kid)
      kept = [{ key: current, until: now() + keepFor * 1000 }, ...rest]
      current = next
    },
    async published() {
      kept = kept.filter(({ until }) => until > now()).slice(0, maxPublished - 1)
      return await Promise.all([current, ...kept.map(({ key }) => key)].map(publicJwk))
    },
  }
}

/** A new key, to be kept as JSON: `JSON.stringify(key)`. */
export async function newSigningKey(
  alg: SigningKey['alg'] = 'ES256',
  kid: string = crypto.randomUUID(),
): Promise<SigningKey & { readonly key: JWK }> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true })
  return { key: await exportJWK(privateKey), kid, alg }
}

function requireReadable({ key, publicKey, kid }: SigningKey): void {
  if (publicKey || !isCryptoKey(key) || key.extractable) return
  throw new TypeError(`The key "${kid}" cannot be read, so it needs its \`publicKey\` beside it.`)
}

function isCryptoKey(key: CryptoKey | JWK): key is CryptoKey {
  return 'algorithm' in key && 'extractable' in key
}

/** Only what is public of a key, whatever it has. */
async function publicJwk({ key, publicKey = key, kid, alg }: SigningKey): Promise<JWK> {
  const { kty, crv, x, y } = isCryptoKey(publicKey) ? await exportJWK(publicKey) : publicKey
  return { kty, ...(crv && { crv }), ...(x && { x }), ...(y && { y }), kid, alg, use: 'sig' }
}
