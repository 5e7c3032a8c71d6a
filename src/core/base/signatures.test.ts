import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { expect, it } from 'vitest'
import { createSignHere, createVerifyHere } from './signatures.ts'

const pairs = {
  Ed25519: generateKeyPairSync('ed25519'),
  'P-256': generateKeyPairSync('ec', { namedCurve: 'P-256' }),
}
const algorithms = { Ed25519: { name: 'Ed25519' }, 'P-256': { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } }
const data = new TextEncoder().encode('signed data')

const kinds = ['Ed25519', 'P-256'] as const

it.each(kinds)('a signature with a key of %s in this thread is one that WebCrypto verifies', async (kind) => {
  await nextTurn()
  const { publicKey, privateKey } = pairs[kind]
  const signature = createSignHere(jwkOf(privateKey))?.(data)
  if (!signature) throw new Error('nothing was signed')
  const key = await crypto.subtle.importKey('jwk', jwkOf(publicKey), algorithms[kind], true, ['verify'])
  expect(await crypto.subtle.verify(algorithms[kind], key, signature, data)).toBe(true)
})

it.each(kinds)('this thread and WebCrypto agree on every changed signature with a key of %s', async (kind) => {
  const { publicKey, privateKey } = pairs[kind]
  const secret = await crypto.subtle.importKey('jwk', jwkOf(privateKey), algorithms[kind], true, ['sign'])
  const key = await crypto.subtle.importKey('jwk', jwkOf(publicKey), algorithms[kind], true, ['verify'])
  const signature = new Uint8Array(await crypto.subtle.sign(algorithms[kind], secret, data))
  const verify = createVerifyHere(jwkOf(publicKey))
  const changed = [
    signature,
    ...Array.from(signature, (_, at) => signature.with(at, (signature[at] ?? 0) ^ 1)),
    signature.subarray(1),
    Uint8Array.from([...signature, 0]),
    new Uint8Array(64),
    new Uint8Array(64).fill(255),
    new Uint8Array(),
  ]
  for (const one of changed) {
    await nextTurn()
    const expected = await crypto.subtle.verify(algorithms[kind], key, Uint8Array.from(one), data)
    expect(verify?.(data, one)).toBe(expected)
    expect(expected).toBe(one === signature)
  }
})

it('signatures beyond those of one request are left to other threads until the next turn of the event loop', async () => {
  await nextTurn()
  const sign = createSignHere(jwkOf(pairs.Ed25519.privateKey))
  const signed = Array.from({ length: 20 }, () => sign?.(data) !== undefined)
  expect(signed[0]).toBe(true)
  expect(signed.at(-1)).toBe(false)
  await nextTurn()
  expect(sign?.(data)).toBeDefined()
})

it('long messages are left to other threads', async () => {
  await nextTurn()
  expect(createSignHere(jwkOf(pairs.Ed25519.privateKey))?.(new Uint8Array(20_000))).toBeUndefined()
  expect(createVerifyHere(jwkOf(pairs.Ed25519.publicKey))?.(new Uint8Array(20_000), new Uint8Array(64))).toBeUndefined()
})

it('RSA keys are left to other threads', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  expect([createSignHere(jwkOf(privateKey)), createVerifyHere(jwkOf(publicKey))]).toEqual([undefined, undefined])
})

function jwkOf(key: KeyObject): JsonWebKey {
  return key.export({ format: 'jwk' }) as JsonWebKey
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
