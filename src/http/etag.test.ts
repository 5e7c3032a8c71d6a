import fc from 'fast-check'
import { expect, test } from 'vitest'
import { etagOf, matches } from './response-headers.ts'

test('a tag is a quoted string that depends on the text alone', () => {
  expect(etagOf('')).toMatch(/^"[0-9a-f]{16}"$/)
  expect(etagOf('card')).toBe(etagOf('card'))
})

test('different texts have different tags', () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      expect(etagOf(one) === etagOf(other)).toBe(one === other)
    }),
  )
  const tags = new Set(Array.from({ length: 100_000 }, (_, index) => etagOf(`{"version":${index}}`)))
  expect(tags.size).toBe(100_000)
})

test.each(['"a"', 'W/"a"', '"b", "a"', '"b",W/"a" ,"c"', '"x,y", "a"', '*', ' * '])(
  'If-None-Match: %s names "a"',
  (header) => {
    expect(matches(header, '"a"')).toBe(true)
  },
)

test.each([undefined, '', 'a', '"b"', '"A"', '"a', '"*"', '"b,a"'])('If-None-Match: %s does not name "a"', (header) => {
  expect(matches(header, '"a"')).toBe(false)
})
