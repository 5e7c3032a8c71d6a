import { expect, it } from 'vitest'
import { checkSpoilings } from './check-spoilings.ts'
import { spoilings } from './spoilings.ts'

it('at least 60 spoilings are checked', () => {
  expect(new Set(spoilings.map(({ name }) => name)).size).toBeGreaterThanOrEqual(60)
})

await checkSpoilings(spoilings)
