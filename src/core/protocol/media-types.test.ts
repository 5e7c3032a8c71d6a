import { expect, it } from 'vitest'
import { isInRanges, isMediaRange } from './media-types.ts'

it.each([
  ['text/plain', ['text/plain'], true],
  ['text/plain; charset=utf-8', ['text/plain'], true],
  ['text/plain', ['text/plain;charset=utf-8'], true],
  ['TEXT/Plain', ['text/plain'], true],
  ['text/markdown', ['text/*'], true],
  ['text/markdown', ['text/plain'], false],
  ['image/png', ['*/*'], true],
  ['image/png', ['*'], true],
  ['image/png', ['application/json', 'image/png'], true],
  ['image/png', ['image/jpeg', 'text/*'], false],
  // The names of kinds in older cards.
  ['text/plain', ['text'], true],
  ['image/png', ['image'], true],
  ['image/png', ['text'], false],
  ['application/json', ['data'], true],
  ['application/pdf', ['file'], true],
  // A caller may accept a range.
  ['text/*', ['text/plain'], true],
  ['*/*', ['application/json'], true],
  ['image/*', ['application/json'], false],
  ['image/png', [], false],
])('%s in %j: %s', (mediaType, ranges, isIn) => {
  expect(isInRanges(mediaType, ranges)).toBe(isIn)
})

it('media types, ranges and the names of kinds are recognised', () => {
  for (const text of ['text/plain', 'application/vnd.a+json; v=1', 'text/*', '*/*', '*', 'text', 'Image', 'file']) {
    expect([text, isMediaRange(text)]).toEqual([text, true])
  }
  for (const text of ['', 'plain', 'text/', '/plain', 'text/plain/x', 'a b/c']) {
    expect([text, isMediaRange(text)]).toEqual([text, false])
  }
})
