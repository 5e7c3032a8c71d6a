import { expect, it } from 'vitest'
import { fromBase64, fromBase64Url, toBase64, toBase64Url } from './base64.ts'

const bytes = Uint8Array.from({ length: 100_001 }, (_, at) => (at * 251) % 256)

it('base64 encodes and decodes bytes of any length', () => {
  expect(toBase64(bytes)).toBe(Buffer.from(bytes).toString('base64'))
  expect(fromBase64(toBase64(bytes))).toEqual(bytes)
})

it('base64url uses the URL-safe alphabet without padding', () => {
  expect(toBase64Url(bytes)).toBe(Buffer.from(bytes).toString('base64url'))
  expect(fromBase64Url(toBase64Url(bytes))).toEqual(bytes)
})

it('a text outside the alphabet decodes to undefined', () => {
  expect([fromBase64('a$b='), fromBase64Url('a$b')]).toEqual([undefined, undefined])
})
