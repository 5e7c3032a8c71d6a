import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { etagOf, matchesEtag, parseRetryAfter } from './response-headers.ts'

describe('an entity tag', () => {
  it('an entity tag is a quoted string that depends on the text alone', () => {
    expect(etagOf('')).toMatch(/^"[0-9a-f]{16}"$/)
    expect(etagOf('card')).toBe(etagOf('card'))
  })

  it('differs for different texts', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(etagOf(one) === etagOf(other)).toBe(one === other)
      }),
    )
    const tags = new Set(Array.from({ length: 100_000 }, (_, index) => etagOf(`{"version":${index}}`)))
    expect(tags.size).toBe(100_000)
  })

  it.each(['"a"', 'W/"a"', '"b", "a"', '"b",W/"a" ,"c"', '"x,y", "a"', '*', ' * '])(
    'an entity tag matches If-None-Match: %s',
    (header) => {
      expect(matchesEtag(header, '"a"')).toBe(true)
    },
  )

  it.each([undefined, '', 'a', '"b"', '"A"', '"a', '"*"', '"b,a"'])(
    'an entity tag does not match If-None-Match: %s',
    (header) => {
      expect(matchesEtag(header, '"a"')).toBe(false)
    },
  )
})

it('Retry-After is read in seconds or as a date', () => {
  const now = Date.parse('2026-01-01T00:00:00Z')
  expect(parseRetryAfter('120', now)).toBe(120_000)
  expect(parseRetryAfter('Thu, 01 Jan 2026 00:01:00 GMT', now)).toBe(60_000)
  expect(parseRetryAfter('Thu, 01 Jan 2020 00:01:00 GMT', now)).toBe(0)
  expect(parseRetryAfter('soon', now)).toBeUndefined()
  expect(parseRetryAfter(null, now)).toBeUndefined()
})
