import { expect, it } from 'vitest'
import { compareVersions } from './read-catalog.ts'

it('versions are sorted by semantic versioning, invalid ones first', () => {
  const sorted = [
    'new',
    '1.0.0-alpha',
    '1.0.0-alpha.1',
    '1.0.0-alpha.beta',
    '1.0.0-beta.2',
    '1.0.0-beta.11',
    '1.0.0-rc.1',
    '1.0.0',
    '1.2.0',
    '1.10.0',
    'v2.0.0',
  ]
  expect(sorted.toReversed().toSorted(compareVersions)).toEqual(sorted)
  expect(compareVersions('1.0.0+a', '1.0.0+b')).toBe(0)
})
