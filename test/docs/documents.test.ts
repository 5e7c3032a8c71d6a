import { expect, it } from 'vitest'
import { documents, missingPaths } from '../support/package/named-paths.ts'

it.each(documents())('every path that %s names exists', (document) => {
  expect(missingPaths(document)).toEqual([])
})
