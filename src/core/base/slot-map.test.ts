import { expect, test } from 'vitest'
import { SlotMap } from './slot-map.ts'

test('a slot map is read, changed and iterated in the order of insertion, like a map', () => {
  const map = new SlotMap<string, number>()
  for (const [index, key] of ['a', 'b', 'c'].entries()) map.set(key, index)
  map.set('a', 10)
  map.delete('b')
  map.delete('missing')
  expect(map.size).toBe(2)
  expect([map.get('a'), map.get('b')]).toEqual([10, undefined])
  expect([...map]).toEqual([
    ['a', 10],
    ['c', 2],
  ])
  expect([...map.values()]).toEqual([10, 2])
})

test('values that are deleted during an iteration are skipped, and new ones are visited', () => {
  const map = new SlotMap<string, number>()
  for (const [index, key] of ['a', 'b', 'c'].entries()) map.set(key, index)
  const visited: string[] = []
  for (const [key] of map) {
    visited.push(key)
    map.delete('b')
    if (key === 'c') map.set('d', 3)
  }
  expect(visited).toEqual(['a', 'c', 'd'])
})
