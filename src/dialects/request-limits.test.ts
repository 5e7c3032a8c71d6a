import { expect, it } from 'vitest'
import { id } from './request-limits.ts'

it('an id has 1 to 256 characters', () => {
  expect(id.read('x')).toBe('x')
  expect(id.read('ü'.repeat(256))).toHaveLength(256)
  expect(() => id.read('')).toThrow('expected a string of 1 to 256 characters, got 0')
  expect(() => id.read('x'.repeat(257))).toThrow('expected a string of 1 to 256 characters, got 257')
  expect(() => id.read(7)).toThrow('expected a string of 1 to 256 characters, got a number')
})

it('an id has no character that a log or a database could change', () => {
  for (const text of ['a\nb', '\u0000', '\u007f', '\u0085', '\ud800', 'x\udc00']) {
    expect(() => id.read(text)).toThrow('control characters')
  }
  expect(id.read('task 7 / 🦜')).toBe('task 7 / 🦜')
})
