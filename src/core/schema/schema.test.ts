import { expect, it } from 'vitest'
import { tryRead } from './schema.ts'
import { string } from './values.ts'

it('tryRead returns undefined for a value that violates the schema', () => {
  expect([tryRead(string(), 'a'), tryRead(string(), 7)]).toEqual(['a', undefined])
})
