import fc from 'fast-check'
import { expect, it } from 'vitest'
import { sha256, toHex } from './hash.ts'

async function byWebCrypto(text: string): Promise<string> {
  return toHex(new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))))
}

it('is what FIPS 180-4 has as its examples', () => {
  expect(toHex(sha256('abc'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
  expect(toHex(sha256(''))).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  const million = 'a'.repeat(1_000_000)
  expect(toHex(sha256(million))).toBe('cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0')
})

it('is what WebCrypto gives, for texts of every length around a block', async () => {
  for (let length = 0; length < 140; length++) {
    expect(toHex(sha256('x'.repeat(length)))).toBe(await byWebCrypto('x'.repeat(length)))
  }
})

it('is what WebCrypto gives, for any text', async () => {
  const property = fc.asyncProperty(fc.string({ unit: 'binary', maxLength: 300 }), async (text) => {
    expect(toHex(sha256(text))).toBe(await byWebCrypto(text))
  })
  await fc.assert(property, { numRuns: 100 })
})
