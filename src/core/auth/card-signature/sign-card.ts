import { type CryptoKey, FlattenedSign, type JWK } from 'jose'
import { defined, type JsonObject } from '../../base/json.ts'
import {
  cleanedForm,
  completeForm,
  hasOnly1_0Members,
  pythonForm,
  schemelessForm,
  specifiedForm,
} from './canonical-card.ts'

/** The JWS algorithms that sign cards. */
export type SignatureAlgorithm = 'ES256' | 'ES384' | 'RS256' | 'PS256' | 'EdDSA'

/** A private key, and the name of its public key. */
export interface CardKey {
  readonly key: CryptoKey | JWK
  readonly kid: string
  readonly alg: SignatureAlgorithm
  /** URL of a JWK Set that contains the public key. */
  readonly jku?: string
}

/** Signs a card with every key: during a rotation, with the old and the new one. */
export async function signCard(card: JsonObject, keys: CardKey | readonly CardKey[]): Promise<JsonObject> {
  const { signatures: _, ...unsigned } = card
  return { ...unsigned, signatures: await cardSignatures(unsigned, keys) }
}

/** A JSON Web Signature without its payload, as cards contain it. */
export type DetachedSignature = Readonly<Record<'protected' | 'signature', string>>

/** The signatures of a card, without the card. */
export async function cardSignatures(
  card: JsonObject,
  keys: CardKey | readonly CardKey[],
): Promise<readonly DetachedSignature[]> {
  const all = 'kid' in keys ? [keys] : keys
  const [complete, ...partial] = new Set(formsFor(card).map((formOf) => formOf(card).text))
  if (complete === undefined) return []
  return await Promise.all(all.flatMap((key) => [sign(complete, key), ...partial.map((text) => sign(text, key, true))]))
}

/**
 * Header that marks signatures for the verifiers of the official SDKs, whose forms do not cover the whole card. Our
 * verifier requires the complete signature, so that an attacker cannot drop it and change what the others leave open.
 */
export const partialMark = 'a2a-partial'

/** The first form covers the whole card. A card that also has members of older versions is signed as it is. */
function formsFor(card: JsonObject) {
  if (card.supportedInterfaces === undefined) return [completeForm]
  const forms = [specifiedForm, cleanedForm, pythonForm, schemelessForm]
  return hasOnly1_0Members(card) ? forms : [completeForm, ...forms]
}

async function sign(text: string, { key, kid, alg, jku }: CardKey, isPartial = false): Promise<DetachedSignature> {
  const header = defined({ alg, kid, typ: 'JOSE', jku, [partialMark]: isPartial ? true : undefined })
  const { protected: protectedHeader = '', signature } = await new FlattenedSign(new TextEncoder().encode(text))
    .setProtectedHeader(header)
    .sign(key)
  return { protected: protectedHeader, signature }
}
