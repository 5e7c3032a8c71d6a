import { describe, expect, it } from 'vitest'
import { callers } from './callers.ts'
import { exerciseCallers, matrix } from './exercise.ts'

const names = Object.keys(callers)

/** Three callers for each upstream and mode, in turn: together, all of them. `matrix.slow.test.ts` has every pair. */
const selection = matrix.map((each, index) => ({
  ...each,
  names: [0, 1, 2].map((n) => names[(3 * index + n) % names.length] ?? ''),
}))

describe.each(selection)('$upstream behind a $mode gateway', (each) => {
  it('clients get what the agent answers', { timeout: 60_000 }, async () => {
    expect(await exerciseCallers(each, each.names)).toBe('')
  })
})
