import { expect, it } from 'vitest'
import { defined, isList, isObject, sameJson, toJson } from './json.ts'

it('toJson copies a value as JSON, without undefined members', () => {
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
])('toJson names the path of a value that JSON cannot hold (%#)', (value, message) => {
  expect(() => toJson(value, 'It')).toThrow(message)
})

it('an object is neither null nor a list', () => {
  expect([{}, null, [], 'a'].map(isObject)).toEqual([true, false, false, false])
  expect([[], {}].map(isList)).toEqual([true, false])
})

it('sameJson ignores the order of members and undefined members', () => {
  expect(sameJson({ a: 1, b: [{ c: null }] }, { b: [{ c: null, d: undefined }], a: 1 })).toBe(true)
  for (const other of [{ a: 2 }, { a: 1, b: 1 }, [1], null, 'a']) expect(sameJson({ a: 1 }, other)).toBe(false)
  expect(sameJson([], {})).toBe(false)
})

it('an object is built without its undefined members', () => {
  const limit: number | undefined = Math.random() > 2 ? 1 : undefined
  const object: { readonly id: string; readonly limit?: number } = defined({ id: 'a', limit })
  expect(Object.keys(object)).toEqual(['id'])
  expect(defined({ empty: '', none: null, zero: 0, no: false })).toStrictEqual({
    empty: '',
    none: null,
    zero: 0,
    no: false,
  })
})
