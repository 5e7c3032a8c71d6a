import { expect, it } from 'vitest'
import { toJson } from './json.ts'

it('copies a value as JSON would bring it back, without members that have no value', () => {
  const shared = { x: 1 }
  const value = { a: [shared, shared, null, 'text'], b: undefined, c: { d: true } }
  const copy = toJson(value, 'It')
  expect(copy).toStrictEqual(JSON.parse(JSON.stringify(value)))
  expect(copy).not.toBe(value)
  expect(toJson(undefined, 'It')).toBeUndefined()
})

const loop: Record<string, unknown> = {}
loop.list = [{ again: loop }]

it.each([
  [{ rows: [{ at: new Date() }] }, 'It.rows[0].at: expected a value that JSON can hold, got a Date'],
  [loop, 'It.list[0].again: expected a value that JSON can hold, got a value that contains itself'],
  [[Number.NaN], 'It[0]: expected a value that JSON can hold, got NaN'],
  [10n, 'It: expected a value that JSON can hold, got 10'],
])('names the place of what JSON cannot hold (%#)', (value, problem) => {
  expect(() => toJson(value, 'It')).toThrow(problem)
})
