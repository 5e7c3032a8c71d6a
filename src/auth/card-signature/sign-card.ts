import { type CryptoKey, FlattenedSign, type JWK } from 'jose'
import type { JsonObject } from '../../base/json.ts'
import { cleanedForm, isOf1_0, pythonForm, schemelessForm, specifiedForm, wholeForm } from './canonical-card.ts'

export type SignatureAlgorithm = 'ES256' | 'ES384' | 'RS256' | 'PS256' | 'EdDSA'

/** A private key, and by what name others find the public one. */
export interface CardKey {
  readonly key: CryptoKey | JWK
  readonly kid: string
  readonly alg: SignatureAlgorithm
  /** Where the public key is to be had, as a JWK Set. */
  readonly jku?: string
}

/** The card with a signature by each key: during a rotation by the old and the new one. */
export async function signCard(card: JsonObject, keys: CardKey | readonly CardKey[]): Promise<JsonObject> {
  const { signatures: _, ...bare } = card
  return { ...bare, signatures: await cardSignatures(bare, keys) }
}

/** A JSON Web Signature without its payload, as it is in a card. */
export type DetachedSignature = Readonly<Record<'protected' | 'signature', string>>

/** Only the signatures of a card, for whoever puts it together. */
export async function cardSignatures(
  card: JsonObject,
  keys: CardKey | readonly CardKey[],
): Promise<readonly DetachedSignature[]> {
  const all = 'kid' in keys ? [keys] : keys
  const [whole, ...partial] = new Set(formsFor(card).map((formOf) => formOf(card).text))
  if (whole === undefined) return []
  return await Promise.all(all.flatMap((key) => [sign(whole, key), ...partial.map((text) => sign(text, key, true))]))
}

/**
 * Marks signatures that are only for verifiers of the official SDKs, whose forms do not cover all of a card. Ours takes
 * the other one of the same key, so that nobody can change what these leave open.
 */
export const partialMark = 'a2a-partial'

/** The first covers all of the card. One that also says what older versions read is signed as it is. */
function formsFor(card: JsonObject) {
  if (card.supportedInterfaces === undefined) return [wholeForm]
  const of1_0 = [specifiedForm, cleanedForm, pythonForm, schemelessForm]
  return isOf1_0(card) ? of1_0 : [wholeForm, ...of1_0]
}

async function sign(text: string, { key, kid, alg, jku }: CardKey, isPartial = false): Promise<DetachedSignature> {
  const header = { alg, kid, typ: 'JOSE', ...(jku !== undefined && { jku }), ...(isPartial && { [partialMark]: true }) }
  const { protected: protectedHeader = '', signature } = await new FlattenedSign(new TextEncoder().encode(text))
    .setProtectedHeader(header)
    .sign(key)
  return { protected: protectedHeader, signature }
}
