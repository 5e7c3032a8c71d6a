import { createHash, createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import type { KeyKind } from './keys.ts'
import { generateSigningKey, importPublicKey, importSigningKey } from './keys.ts'

const data = new TextEncoder().encode('what is signed')
const kinds: readonly KeyKind[] = ['Ed25519', 'P-256', 'RSA']

describe.each(kinds)('a key of %s', (kind) => {
  it('signs what its public half finds good, and nothing else', async () => {
    const key = await generateSigningKey(kind)
    const signature = await key.sign(data)
    const open = await importPublicKey(key.jwk)
    expect(await open.verify(data, signature)).toBe(true)
    expect(
      await open.verify(
        Uint8Array.from(data, (byte) => byte ^ 1),
        signature,
      ),
    ).toBe(false)
    expect(
      await open.verify(
        data,
        Uint8Array.from(signature, (byte, at) => (at === 5 ? byte ^ 1 : byte)),
      ),
    ).toBe(false)
    expect(await (await generateSigningKey(kind)).verify(data, signature)).toBe(false)
  })

  it('is the same from PEM and from a JWK, and its fingerprint is that of its DER', async () => {
    const pair = nodePair(kind)
    const der = pair.publicKey.export({ type: 'spki', format: 'der' })
    const fingerprint = `sha256:${createHash('sha256').update(der).digest('hex')}`
    const open = [
      await importPublicKey(pair.publicKey.export({ type: 'spki', format: 'pem' }).toString()),
      await importPublicKey(der.toString('base64')),
      await importPublicKey(pair.publicKey.export({ format: 'jwk' }) as JsonWebKey),
    ]
    const secret = [
      await importSigningKey(pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()),
      await importSigningKey(pair.privateKey.export({ format: 'jwk' }) as JsonWebKey),
    ]
    expect([...open, ...secret].map((key) => key.fingerprint)).toEqual(Array(5).fill(fingerprint))
    for (const key of secret) {
      expect(key.jwk.d).toBeUndefined()
      for (const other of open) expect(await other.verify(data, await key.sign(data))).toBe(true)
    }
  })

  it('shows the key that others can use', async () => {
    const key = await generateSigningKey(kind)
    expect(createPublicKey({ key: key.jwk as never, format: 'jwk' }).type).toBe('public')
  })
})

describe('a signature', () => {
  it('of ECDSA may come as DER, in its one spelling', async () => {
    const { privateKey, publicKey } = nodePair('P-256')
    const open = await importPublicKey(publicKey.export({ format: 'jwk' }) as JsonWebKey)
    for (let round = 0; round < 200; round++) {
      const der = Uint8Array.from(sign('sha256', data, privateKey))
      expect(await open.verify(data, der)).toBe(true)
      expect(await open.verify(data, Uint8Array.from([...der, 0]))).toBe(false)
      const longer = Uint8Array.from([0x30, (der[1] ?? 0) + 1, 0x02, (der[3] ?? 0) + 1, 0, ...der.subarray(4)])
      expect(await open.verify(data, longer)).toBe(false)
    }
  })

  it('of RSA in the older padding is taken only if that is allowed', async () => {
    const { privateKey, publicKey } = nodePair('RSA')
    const jwk = publicKey.export({ format: 'jwk' }) as JsonWebKey
    const older = Uint8Array.from(sign('sha256', data, privateKey))
    expect(await (await importPublicKey(jwk)).verify(data, older)).toBe(false)
    expect(await (await importPublicKey(jwk, { allowPkcs1: true })).verify(data, older)).toBe(true)
  })
})

describe('a key is refused', () => {
  it('if it is of RSA and short', async () => {
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
    await expect(importPublicKey(publicKey.export({ format: 'jwk' }) as JsonWebKey)).rejects.toThrow(
      'The RSA key has 1024 bits: it must have 2048 or more.',
    )
  })

  it.each([
    ['of another curve', generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey, 'unknown kind'],
    ['of another algorithm', generateKeyPairSync('x25519').publicKey, 'unknown kind'],
  ])('if it is %s', async (_, key, problem) => {
    await expect(importPublicKey(key.export({ type: 'spki', format: 'pem' }).toString())).rejects.toThrow(problem)
    await expect(importPublicKey(key.export({ format: 'jwk' }) as JsonWebKey)).rejects.toThrow('Give a key of Ed25519')
  })

  it('if it is no key', async () => {
    await expect(importPublicKey('a key!')).rejects.toThrow('neither PEM nor base64')
    await expect(importPublicKey({ kty: 'oct' })).rejects.toThrow('The JWK has the type oct')
  })
})

function nodePair(kind: KeyKind) {
  if (kind === 'Ed25519') return generateKeyPairSync('ed25519')
  return kind === 'P-256'
    ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
    : generateKeyPairSync('rsa', { modulusLength: 2048 })
}
