import { createHash, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { KeyKind } from './keys.ts'
import { generateSigningKey, importPublicKey, importSigningKey } from './keys.ts'

const data = new TextEncoder().encode('signed data')
const kinds: readonly KeyKind[] = ['Ed25519', 'P-256', 'RSA']

describe.each(kinds)('a key of %s', (kind) => {
  it('signs data that its public half verifies', async () => {
    const key = await generateSigningKey(kind)
    const signature = await key.sign(data)
    const publicKey = await importPublicKey(key.jwk)
    expect(await publicKey.verify(data, signature)).toBe(true)
    expect(
      await publicKey.verify(
        Uint8Array.from(data, (byte) => byte ^ 1),
        signature,
      ),
    ).toBe(false)
    expect(
      await publicKey.verify(
        data,
        Uint8Array.from(signature, (byte, at) => (at === 5 ? byte ^ 1 : byte)),
      ),
    ).toBe(false)
    expect(await (await generateSigningKey(kind)).verify(data, signature)).toBe(false)
  })

  it('a key has the fingerprint of its DER, whether imported from PEM or a JWK', async () => {
    const pair = generateNodeKeys(kind)
    const der = pair.publicKey.export({ type: 'spki', format: 'der' })
    const fingerprint = `sha256:${createHash('sha256').update(der).digest('hex')}`
    const publicKeys = [
      await importPublicKey(pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()),
      await importPublicKey(der.toString('base64')),
      await importPublicKey(pair.publicKey.export({ format: 'jwk' }) as JsonWebKey),
    ]
    const privateKeys = [
      await importSigningKey(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
      await importSigningKey(pair.privateKey.export({ format: 'jwk' }) as JsonWebKey),
    ]
    expect([...publicKeys, ...privateKeys].map((key) => key.fingerprint)).toEqual(Array(5).fill(fingerprint))
    for (const key of privateKeys) {
      expect(key.jwk.d).toBeUndefined()
      for (const other of publicKeys) expect(await other.verify(data, await key.sign(data))).toBe(true)
    }
  })

  it('exposes a public key that other libraries can use', async () => {
    const key = await generateSigningKey(kind)
    expect(createPublicKey({ key: key.jwk as never, format: 'jwk' }).type).toBe('public')
  })
})

describe('a signature', () => {
  it('an ECDSA signature may be canonical DER', async () => {
    const { privateKey, publicKey: exported } = generateNodeKeys('P-256')
    const publicKey = await importPublicKey(exported.export({ format: 'jwk' }) as JsonWebKey)
    for (let round = 0; round < 200; round++) {
      const der = Uint8Array.from(sign('sha256', data, privateKey))
      expect(await publicKey.verify(data, der)).toBe(true)
      expect(await publicKey.verify(data, Uint8Array.from([...der, 0]))).toBe(false)
      const longer = Uint8Array.from([0x30, (der[1] ?? 0) + 1, 0x02, (der[3] ?? 0) + 1, 0, ...der.subarray(4)])
      expect(await publicKey.verify(data, longer)).toBe(false)
    }
  })

  it('an RSA signature with the older padding is accepted only if allowed', async () => {
    const { privateKey, publicKey } = generateNodeKeys('RSA')
    const jwk = publicKey.export({ format: 'jwk' }) as JsonWebKey
    const signature = Uint8Array.from(sign('sha256', data, privateKey))
    expect(await (await importPublicKey(jwk)).verify(data, signature)).toBe(false)
    expect(await (await importPublicKey(jwk, { allowPkcs1: true })).verify(data, signature)).toBe(true)
  })
})

describe('a key', () => {
  it('an RSA key must have 2048 bits', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    await expect(importPublicKey(publicKey.export({ format: 'jwk' }) as JsonWebKey)).rejects.toThrow(
      'The RSA key has 1024 bits: it must have 2048 or more.',
    )
  })

  it.each([
    ['of another curve', generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey, 'unknown kind'],
    ['of another algorithm', generateKeyPairSync('x25519').publicKey, 'unknown kind'],
  ])('%s is rejected', async (_, key, message) => {
    await expect(importPublicKey(key.export({ type: 'spki', format: 'pem' }).toString())).rejects.toThrow(message)
    await expect(importPublicKey(key.export({ format: 'jwk' }) as JsonWebKey)).rejects.toThrow('Use an Ed25519 key')
  })

  it('a key must be readable', async () => {
    await expect(importPublicKey('a key!')).rejects.toThrow('neither PEM nor base64')
    await expect(importPublicKey({ kty: 'oct' })).rejects.toThrow('The JWK has the type oct')
  })
})

function generateNodeKeys(kind: KeyKind) {
  if (kind === 'Ed25519') return generateKeyPairSync('ed25519')
  return kind === 'P-256'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: 2048 })
}
