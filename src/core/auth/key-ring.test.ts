import { generateKeyPair } from 'jose'
import { expect, it } from 'vitest'
import { createKeyRing, newSigningKey } from './key-ring.ts'

it('a key that was rotated out stays published for a while', async () => {
  let now = 0
  const ring = createKeyRing(await newSigningKey('ES256', 'old'), { keepFor: 60, now: () => now })
  ring.rotate(await newSigningKey('EdDSA', 'new'))
  expect(ring.current().kid).toBe('new')
  const kids = async () => (await ring.published()).map(({ kid }) => kid)
  expect(await kids()).toEqual(['new', 'old'])
  now = 59_999
  expect(await kids()).toEqual(['new', 'old'])
  now = 60_000
  expect(await kids()).toEqual(['new'])
})

it('no private part of a key is published', async () => {
  const { privateKey, publicKey } = await generateKeyPair('ES256', { extractable: true })
  const hidden = await generateKeyPair('EdDSA')
  const ring = createKeyRing([
    await newSigningKey('ES256', 'one'),
    { key: privateKey, kid: 'two', alg: 'ES256' },
    { key: privateKey, publicKey, kid: 'three', alg: 'ES256' },
    { key: hidden.privateKey, publicKey: hidden.publicKey, kid: 'four', alg: 'EdDSA' },
  ])
  const published = await ring.published()
  expect(published.map(({ kid, alg, use }) => `${kid} ${alg} ${use}`)).toEqual([
    'one ES256 sig',
    'two ES256 sig',
    'three ES256 sig',
    'four EdDSA sig',
  ])
  expect(published.every((key) => typeof key.x === 'string' && !('d' in key))).toBe(true)
})

it('an unreadable key, no key and the current key again are errors', async () => {
  const { privateKey } = await generateKeyPair('ES256')
  expect(() => createKeyRing({ key: privateKey, kid: 'k', alg: 'ES256' })).toThrow('needs its `publicKey` beside it')
  expect(() => createKeyRing([])).toThrow('at least one key')
  const key = await newSigningKey('ES256', 'k')
  expect(() => createKeyRing(key).rotate(key)).toThrow('"k" is at work already')
})

it('at most sixteen keys are published', async () => {
  const ring = createKeyRing(await newSigningKey())
  for (let n = 0; n < 20; n++) ring.rotate(await newSigningKey())
  expect(await ring.published()).toHaveLength(16)
})

it.each<[string, unknown, string]>([
  ['nothing', undefined, 'expected'],
  ['a text', 'secret', 'got string'],
  ['an empty list', [], 'at least one key'],
  ['a list with a text', ['secret'], 'got string'],
  ['a key without a name', { key: { kty: 'EC', d: 'x' }, alg: 'ES256' }, 'a key with a name'],
  ['a key with a secret as a text', { key: 'secret', kid: 'k', alg: 'ES256' }, 'a private CryptoKey or JSON Web Key'],
  ['a public key', { key: { kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }, kid: 'k', alg: 'ES256' }, 'a private CryptoKey'],
  [
    'a key with another algorithm',
    { key: { kty: 'oct', k: 'x', d: 'x' }, kid: 'k', alg: 'HS256' },
    "'ES256' or 'EdDSA'",
  ],
])('%s instead of keys is an error at start', async (_, keys, problem) => {
  expect(() => createKeyRing(keys as never)).toThrow(problem)
  if (Array.isArray(keys)) return
  const ring = createKeyRing(await newSigningKey())
  expect(() => ring.rotate(keys as never)).toThrow(problem)
})
