import { describe, expect, it } from 'vitest'
import { callers } from './callers.ts'
import { exerciseCallers, matrix } from './exercise.ts'

describe.each(matrix)('$upstream behind a $mode gateway', (each) => {
  it('every client gets what the agent answers', { timeout: 120_000 }, async () => {
    expect(await exerciseCallers(each, Object.keys(callers))).toBe('')
  })
})
