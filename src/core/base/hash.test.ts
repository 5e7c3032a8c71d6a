import { describe, expect, it } from 'vitest'
import { fromHex, isEqual, sha256, sha256Key, toHex } from './hash.ts'

describe('sha256', () => {
  it('sha256 matches the examples of FIPS 180-4', () => {
    expect(toHex(sha256('abc'))).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    expect(toHex(sha256(''))).toBe('e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  })

  it('sha256 matches WebCrypto for text beyond ASCII', async () => {
    const text = 'naïve 😀'.repeat(100)
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
    expect(toHex(sha256(text))).toBe(toHex(new Uint8Array(digest)))
    expect(sha256Key(text)).toBe(String.fromCharCode(...new Uint8Array(digest)))
  })
})

it('hexadecimal text is decoded in either case, and any other text to undefined', () => {
  expect(fromHex('00fFA0')).toEqual(Uint8Array.of(0, 255, 160))
  expect(['', 'f', 'fg', '0x00'].map(fromHex)).toEqual([undefined, undefined, undefined, undefined])
})

it('bytes are equal only if all of them are', () => {
  const bytes = Uint8Array.of(1, 2, 3)
  expect(isEqual(bytes, Uint8Array.of(1, 2, 3))).toBe(true)
  expect([Uint8Array.of(1, 2), Uint8Array.of(1, 2, 4)].map((other) => isEqual(bytes, other))).toEqual([false, false])
})
