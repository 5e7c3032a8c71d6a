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
import { defined, isObject, type Json, type JsonObject } from '../../base/json.ts'
import {
  aFunction,
  anObject,
  checkOptions,
  httpUrl,
  listOf,
  milliseconds,
  type OptionChecks,
  oneOf,
} from '../../base/options.ts'
import type { Fetch } from '../../http/fetch.ts'
import { readLimited } from '../../http/read-limited.ts'
import {
  type CanonicalForm,
  cleanedForm,
  completeForm,
  pythonForm,
  schemelessForm,
  specifiedForm,
} from './canonical-card.ts'
import { partialMark, type SignatureAlgorithm } from './sign-card.ts'

/** Maximum size of a key set in bytes. */
const maxKeySetBytes = 2 ** 18

const maxKeySets = 64

/** Signatures that are checked. A card with more is rejected. */
const maxSignatures = 16

/** Options of `createCardVerifier`: the keys that are trusted, and where they are found. */
export interface CardVerifierOptions {
  /** Trusted public keys. */
  readonly keys?: readonly JWK[]
  /** URL of a trusted JWK Set. */
  readonly jwks?: string
  /** Origins whose JWK Sets are trusted if a signature names one (`jku`). Defaults to none. */
  readonly trustedOrigins?: readonly string[]
  readonly algorithms?: readonly SignatureAlgorithm[]
  /** Defaults to the global `fetch`. Use a guarded one where others choose the URLs. */
  readonly fetch?: Fetch
  /** Milliseconds after which keys are fetched again. Defaults to 10 minutes. */
  readonly maxAge?: number
  /** Minimum time between two fetches for unknown key names, in milliseconds. Defaults to 30 seconds. */
  readonly cooldown?: number
  /** Timeout of a fetch in milliseconds. Defaults to 5 seconds. */
  readonly timeout?: number
}

const algorithmNames = ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'] as const

const optionChecks: OptionChecks<CardVerifierOptions> = {
  keys: listOf(anObject),
  jwks: httpUrl,
  trustedOrigins: listOf(httpUrl),
  algorithms: listOf(oneOf(...algorithmNames)),
  fetch: aFunction,
  maxAge: milliseconds(),
  cooldown: milliseconds(),
  timeout: milliseconds({ min: 1 }),
}

/** Throws unless a trusted key has signed the card. Returns only the signed members: the others cannot be trusted. */
export type CardVerifier = (card: JsonObject) => Promise<JsonObject>

/** Creates the `verifyCard` option of `connect`: it checks the signatures of a card with keys that you trust. */
export function createCardVerifier(options: CardVerifierOptions): CardVerifier {
  checkOptions('createCardVerifier', options, optionChecks)
  const { algorithms = algorithmNames } = options
  const sources: readonly KeyLookup[] = [
    ...(options.keys ? [pinnedKeys(options.keys)] : []),
    ...(options.jwks === undefined ? [] : [keySetAt(options.jwks, options)]),
    ...(options.trustedOrigins ? [keySetsOf(options.trustedOrigins, options)] : []),
  ]
  if (sources.length === 0)
    throw new TypeError('createCardVerifier: expected keys, jwks or trustedOrigins: they say which keys are trusted.')

  return async (card) => {
    const signatures = readSignatures(card)
    const forms = formsOf(card)
    const problems: string[] = []
    for (const signature of signatures) {
      const result = await verifySignature(signature, forms, sources, [...algorithms])
      if (typeof result !== 'string') return { ...result.covered, signatures: card.signatures ?? [] }
      problems.push(result)
    }
    throw new Error(`none of its signatures is valid: ${problems.join('; ')}`)
  }
}

/** Returns the keys that may have made a signature. */
type KeyLookup = (header: JWSHeaderParameters, jws: FlattenedJWSInput) => Promise<readonly (CryptoKey | JWK)[]>

/** A key without a name may have made any signature. */
function pinnedKeys(keys: readonly JWK[]): KeyLookup {
  return async ({ kid }) => keys.filter((key) => key.kid === undefined || key.kid === kid)
}

/** A cached key set. It is fetched again when a signature names an unknown key, but not before the cooldown. */
function keySetAt(url: string, options: CardVerifierOptions): KeyLookup {
  const { fetch = globalThis.fetch, maxAge = 600_000, cooldown = 30_000, timeout = 5_000 } = options
  const findKey = createRemoteJWKSet(new URL(url), {
    cacheMaxAge: maxAge,
    cooldownDuration: cooldown,
    timeoutDuration: timeout,
    async [customFetch](address, { headers, method, redirect, signal }) {
      const response = await fetch(address, { headers, method, redirect, signal })
      const { status } = response
      if (status !== 200) return new Response(null, { status: status < 200 ? 500 : status })
      return new Response(new Uint8Array(await readLimited(response.body, maxKeySetBytes)), { status })
    },
  })
  return async (header, jws) => {
    try {
      return [await findKey(header, jws)]
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return []
      if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error
      return await Array.fromAsync(error)
    }
  }
}

/** The key sets that signatures name by URL, if their origin is trusted. */
function keySetsOf(origins: readonly string[], options: CardVerifierOptions): KeyLookup {
  const sets = new BoundedMap<string, KeyLookup>(maxKeySets)
  return async (header, jws) => {
    const { jku } = header
    if (jku === undefined || !URL.canParse(jku) || !origins.includes(new URL(jku).origin)) return []
    const keySet = sets.get(jku) ?? keySetAt(jku, options)
    sets.set(jku, keySet)
    return await keySet(header, jws)
  }
}

interface Signature {
  readonly protected: string
  readonly signature: string
  readonly header?: JsonObject
}

function readSignatures({ signatures }: JsonObject): readonly Signature[] {
  if (!Array.isArray(signatures) || signatures.length === 0) throw new Error('it is not signed')
  if (signatures.length > maxSignatures) throw new Error(`it has more than ${maxSignatures} signatures`)
  return signatures.map((signature: Json) => {
    if (isSignature(signature)) return signature
    throw new Error('a signature must have protected and signature as text')
  })
}

function isSignature(value: Json): value is Json & Signature {
  return isObject(value) && typeof value.protected === 'string' && typeof value.signature === 'string'
}

/** The first form that a signature covers counts, so the strictest comes first. */
function formsOf(card: JsonObject): readonly CanonicalForm[] {
  return [specifiedForm, completeForm, cleanedForm, pythonForm, schemelessForm].flatMap((formOf) => {
    try {
      return [formOf(card)]
    } catch {
      return []
    }
  })
}

/** Returns the form that was signed, or why none was. */
async function verifySignature(
  { protected: protectedHeader, signature, header: unprotected }: Signature,
  forms: readonly CanonicalForm[],
  sources: readonly KeyLookup[],
  algorithms: string[],
): Promise<CanonicalForm | string> {
  const jws = defined({ protected: protectedHeader, signature, payload: '', header: unprotected })
  try {
    const header = decodeProtectedHeader(jws)
    if (header[partialMark]) return 'one covers only a part of the card'
    if (!algorithms.includes(header.alg ?? '')) return `${excerpt(header.alg)} is no algorithm that is accepted`
    const keys = (await Promise.all(sources.map((findKeys) => findKeys(header, jws)))).flat()
    if (keys.length === 0) return `the key ${excerpt(header.kid)} is not known`
    for (const key of keys) {
      for (const form of forms) {
        if (await isValid({ ...jws, payload: base64url.encode(form.text) }, key, algorithms)) return form
      }
    }
    return `the card is not the one that ${excerpt(header.kid)} has signed`
  } catch (error) {
    return error instanceof Error ? error.message : `${error}`
  }
}

async function isValid(jws: FlattenedJWSInput, key: CryptoKey | JWK, algorithms: string[]): Promise<boolean> {
  try {
    await flattenedVerify(jws, key, { algorithms })
    return true
  } catch (error) {
    if (error instanceof errors.JWSSignatureVerificationFailed) return false
    throw error
  }
}

function excerpt(value: unknown): string {
  return (JSON.stringify(value) ?? 'without a name').slice(0, 100)
}
