import {
  base64url,
  type CryptoKey,
  createRemoteJWKSet,
  customFetch,
  decodeProtectedHeader,
  errors,
  type FlattenedJWSInput,
  flattenedVerify,
  type JWK,
  type JWSHeaderParameters,
} from 'jose'
import { BoundedMap } from '../../base/bounded-map.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Fetch } from '../../http/fetch.ts'
import { readLimited } from '../../http/read-limited.ts'
import {
  type CanonicalForm,
  cleanedForm,
  pythonForm,
  schemelessForm,
  specifiedForm,
  wholeForm,
} from './canonical-card.ts'
import { partialMark, type SignatureAlgorithm } from './sign-card.ts'

const maxBytes = 2 ** 18

const maxSets = 64

/** So many are looked at. */
const maxSignatures = 16

export interface RemoteKeysOptions {
  readonly fetch: Fetch
  /** Milliseconds for which keys are used before they are asked for again. 10 minutes by default. */
  readonly maxAge?: number
  /** Milliseconds between two questions that an unknown name of a key causes. 30 seconds by default. */
  readonly cooldown?: number
  /** Milliseconds that the question may take. 5 seconds by default. */
  readonly timeout?: number
}

export interface CardVerifierOptions extends Partial<RemoteKeysOptions> {
  /** Public keys that are known beforehand. */
  readonly keys?: readonly JWK[]
  /** The address of a JWK Set that is trusted. */
  readonly jwks?: string
  /** Origins whose JWK Sets are trusted if a signature names one (`jku`). None by default. */
  readonly trustedOrigins?: readonly string[]
  readonly algorithms?: readonly SignatureAlgorithm[]
  /** The global one by default. Where others choose addresses, a guarded one is better. */
  readonly fetch?: Fetch
}

/** Throws unless somebody who is trusted has signed the card; gives what of it is signed, for nothing else is believed. */
export type CardVerifier = (card: JsonObject) => Promise<JsonObject>

/** Gives the keys that may have made a signature. */
export type KnownKeys = (header: JWSHeaderParameters, jws: FlattenedJWSInput) => Promise<readonly (CryptoKey | JWK)[]>

export function cardVerifier(options: CardVerifierOptions): CardVerifier {
  const { algorithms = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'], fetch = globalThis.fetch } = options
  const remote = { ...options, fetch }
  const sources: readonly KnownKeys[] = [
    ...(options.keys ? [pinnedKeys(options.keys)] : []),
    ...(options.jwks === undefined ? [] : [remoteKeys(options.jwks, remote)]),
    ...(options.trustedOrigins ? [namedKeys(options.trustedOrigins, remote)] : []),
  ]
  if (sources.length === 0) throw new TypeError('cardVerifier: keys, jwks or trustedOrigins must say whom to trust')

  return async (card) => {
    const signatures = signaturesOf(card)
    const forms = formsOf(card)
    const problems: string[] = []
    for (const signature of signatures) {
      const outcome = await check(signature, forms, sources, [...algorithms])
      if (typeof outcome !== 'string') return { ...outcome.covered, signatures: card.signatures ?? [] }
      problems.push(outcome)
    }
    throw new Error(`none of its signatures is valid: ${problems.join('; ')}`)
  }
}

/** Those that were handed over. One without a name may be any. */
function pinnedKeys(keys: readonly JWK[]): KnownKeys {
  return async ({ kid }) => keys.filter((key) => key.kid === undefined || key.kid === kid)
}

/** Those of a JWK Set somewhere: kept, and asked for again when a new name appears, but not more often than that. */
function remoteKeys(url: string, options: RemoteKeysOptions): KnownKeys {
  const { fetch, maxAge = 600_000, cooldown = 30_000, timeout = 5_000 } = options
  const keyOf = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: maxAge,
    cooldownDuration: cooldown,
    timeoutDuration: timeout,
    async [customFetch](address, { headers, method, redirect, signal }) {
      const response = await fetch(address, { headers, method, redirect, signal })
      const { status } = response
      if (status !== 200) return new Response(null, { status: status < 200 ? 500 : status })
      return new Response(new Uint8Array(await readLimited(response.body, maxBytes)), { status })
    },
  })
  return async (header, jws) => {
    try {
      return [await keyOf(header, jws)]
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return []
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      return await Array.fromAsync(error)
    }
  }
}

/** Several sets by their addresses, as signatures name them; only of origins that are trusted. */
function namedKeys(origins: readonly string[], options: RemoteKeysOptions): KnownKeys {
  const sets = new BoundedMap<string, KnownKeys>(maxSets)
  return async (header, jws) => {
    const { jku } = header
    if (jku === undefined || !URL.canParse(jku) || !origins.includes(new URL(jku).origin)) return []
    const keys = sets.get(jku) ?? remoteKeys(jku, options)
    sets.set(jku, keys)
    return await keys(header, jws)
  }
}

function signaturesOf({ signatures }: JsonObject): readonly Signature[] {
  if (!Array.isArray(signatures) || signatures.length === 0) throw new Error('it is not signed')
  if (signatures.length > maxSignatures) throw new Error(`it has more than ${maxSignatures} signatures`)
  return signatures.map((each: Partial<Signature> | null) => {
    if (typeof each?.protected === 'string' && typeof each.signature === 'string') return each as Signature
    throw new Error('a signature must have protected and signature as text')
  })
}

interface Signature {
  readonly protected: string
  readonly signature: string
  readonly header?: JsonObject
}

/** The first that a signature covers counts, so the strictest comes first. */
function formsOf(card: JsonObject): readonly CanonicalForm[] {
  return [specifiedForm, wholeForm, cleanedForm, pythonForm, schemelessForm].flatMap((formOf) => {
    try {
      return [formOf(card)]
    } catch {
      return []
    }
  })
}

/** The form that was signed, or why none was. */
async function check(
  { protected: header, signature, header: unprotected }: Signature,
  forms: readonly CanonicalForm[],
  sources: readonly KnownKeys[],
  algorithms: string[],
): Promise<CanonicalForm | string> {
  const jws = { protected: header, signature, payload: '', ...(unprotected && { header: unprotected }) }
  try {
    const said = decodeProtectedHeader(jws)
    if (said[partialMark]) return 'one is only for others, and leaves something open'
    if (!algorithms.includes(said.alg ?? '')) return `${say(said.alg)} is no algorithm that is accepted`
    const keys = (await Promise.all(sources.map((keysOf) => keysOf(said, jws)))).flat()
    if (keys.length === 0) return `the key ${say(said.kid)} is not known`
    for (const key of keys) {
      for (const form of forms) {
        const isSigned = await flattenedVerify({ ...jws, payload: base64url.encode(form.text) }, key, {
          algorithms,
        }).then(
          () => true,
          (error) => (error instanceof errors.JWSSignatureVerificationFailed ? false : Promise.reject(error)),
        )
        if (isSigned) return form
      }
    }
    return `the card is not the one that ${say(said.kid)} has signed`
  } catch (error) {
    return error instanceof Error ? error.message : `${error}`
  }
}

function say(value: unknown): string {
  return (JSON.stringify(value) ?? 'without a name').slice(0, 100)
}
