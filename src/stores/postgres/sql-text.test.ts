import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeText, encodeText } from '../shared/sql-text.ts'
import { array, lines } from './sql-text.ts'

const anyString = fc.string({
  unit: fc.oneof(fc.string({ unit: 'binary', maxLength: 1 }), fc.constantFrom('\\', '\0', '\n', '\ud800', 'e')),
})

test('any string survives the encoding as one line that PostgreSQL can store', () => {
  fc.assert(
    fc.property(anyString, (text) => {
      const encoded = encodeText(text)
      expect(encoded.isWellFormed()).toBe(true)
      expect(encoded).toMatch(/^[^\0\n\r]+$/)
      expect(decodeText(encoded)).toBe(text)
    }),
  )
})

test('different strings have different encodings', () => {
  fc.assert(fc.property(anyString, anyString, (a, b) => (encodeText(a) === encodeText(b)) === (a === b)))
})

test('a string that needs no escape is unchanged', () => {
  expect(encodeText('3f2a-é-😀 "quoted"')).toBe('3f2a-é-😀 "quoted"')
})

test('several texts become lines, and undefined an empty line', () => {
  expect(lines(['a', undefined, '', 'b\nc'])).toBe('a\n\n\\e\nb\\000ac')
  expect(array([1, undefined, true, null, 'working'])).toBe('{1,NULL,true,NULL,working}')
})
