import { expect, it } from 'vitest'
import { newId } from './idempotency.ts'

it('has 128 random bits after the time, and never twice the same', () => {
  const ids = Array.from({ length: 10_000 }, newId)
  for (const id of ids) expect(id).toMatch(/^[\da-f]{12}-[\da-f]{32}$/)
  const random = ids.map((id) => id.slice(13))
  expect(new Set(random).size).toBe(ids.length)
  // Each of the 128 bits is set in about half of them: seven standard deviations are 350.
  for (let bit = 0; bit < 128; bit++) {
    const set = random.filter((text) => (Number.parseInt(text.charAt(bit >> 2), 16) >> (bit & 3)) & 1).length
    expect(Math.abs(set - 5_000), `bit ${bit}`).toBeLessThan(350)
  }
})

it('grows with time', async () => {
  const first = newId()
  await new Promise((resolve) => setTimeout(resolve, 3))
  expect(newId().slice(0, 12) > first.slice(0, 12)).toBe(true)
})
