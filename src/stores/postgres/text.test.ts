import fc from 'fast-check'
import { expect, test } from 'vitest'
import { array, decodeText, encodeText, lines } from './sql-text.ts'

const anything = fc.string({
  unit: fc.oneof(fc.string({ unit: 'binary', maxLength: 1 }), fc.constantFrom('\\', '\0', '\n', '\ud800', 'e')),
})

test('any string comes back from a text of one line that PostgreSQL can hold', () => {
  fc.assert(
    fc.property(anything, (text) => {
      const encoded = encodeText(text)
      expect(encoded.isWellFormed()).toBe(true)
      expect(encoded).toMatch(/^[^\0\n\r]+$/)
      expect(decodeText(encoded)).toBe(text)
    }),
  )
})

test('different strings have different texts', () => {
  fc.assert(fc.property(anything, anything, (a, b) => (encodeText(a) === encodeText(b)) === (a === b)))
})

test('what needs no escape is left as it is', () => {
  expect(encodeText('3f2a-é-😀 "quoted"')).toBe('3f2a-é-😀 "quoted"')
})

test('several texts are lines, and an empty line is none', () => {
  expect(lines(['a', undefined, '', 'b\nc'])).toBe('a\n\n\\e\nb\\000ac')
  expect(array([1, undefined, true, null, 'working'])).toBe('{1,NULL,true,NULL,working}')
})
