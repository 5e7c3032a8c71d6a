import { AgentCard, generateAgentCardSignature, verifyAgentCardSignature } from '@a2a-js/sdk'
import { exportJWK, generateKeyPair, type JWK } from 'jose'
import { describe, expect, it } from 'vitest'
import { type SignatureAlgorithm, signCard } from '../../src/core/auth/card-signature/sign-card.ts'
import { createCardVerifier } from '../../src/core/auth/card-signature/verify-card.ts'
import type { JsonObject } from '../../src/core/base/json.ts'
import { encodeCardAs } from '../../src/core/dialects/served-card.ts'
import { fullCard } from '../contracts/dialects/full-objects.ts'

const { signatures: _, ...card } = encodeCardAs('1.0', fullCard('1.0'))
const sparseCard = { ...card, description: '', securityRequirements: [{ schemes: { key: {} } }], skills: [] }

async function newKey(alg: SignatureAlgorithm) {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  const pub: JWK = { ...(await exportJWK(publicKey)), kid: 'one', alg }
  return { privateKey, pub, signing: { key: privateKey, kid: 'one', alg } }
}

for (const alg of ['ES256', 'EdDSA'] as const) {
  describe(`card signatures with ${alg}`, () => {
    it.each([
      ['full', card],
      ['with empty members', sparseCard],
    ])('the SDK verifies cards that Parley signs: %s', async (_, unsigned) => {
      const { signing, pub } = await newKey(alg)
      const verify = verifyAgentCardSignature(async () => pub)
      const signed = await signCard(unsigned, signing)
      await expect(verify(AgentCard.fromJSON(signed))).resolves.toBeUndefined()
      await expect(verify(AgentCard.fromJSON({ ...signed, name: 'Another' }))).rejects.toThrow('No valid signatures')
    })

    it.each([
      ['full', card],
      ['with empty members', sparseCard],
    ])('Parley verifies cards that the SDK signs: %s', async (_, unsigned) => {
      const { privateKey, pub } = await newKey(alg)
      const sign = generateAgentCardSignature(privateKey, { alg, kid: 'one', typ: 'JOSE' })
      const signed = AgentCard.toJSON(await sign(AgentCard.fromJSON(unsigned))) as JsonObject
      const verify = createCardVerifier({ keys: [pub] })
      const verified = await verify(signed)
      expect(verified).toMatchObject({ name: card.name, supportedInterfaces: card.supportedInterfaces })
      // The SDK does not sign them, so their origin is unknown.
      expect(verified).not.toHaveProperty('securitySchemes')
      await expect(verify({ ...signed, name: 'Another' })).rejects.toThrow('none of its signatures is valid')
    })
  })
}
