import { expect, test } from 'vitest'
import { SlotMap } from './slot-map.ts'

test('a slot map returns, replaces and deletes values, and keeps the order of its keys', () => {
  const map = new SlotMap<string, { readonly number: number }>()
  for (const number of [1, 2, 3]) map.set(`${number}`, { number })
  map.set('2', { number: 20 })
  map.delete('1')
  map.delete('unknown')
  expect(map.size).toBe(2)
  expect(map.get('1')).toBeUndefined()
  expect([...map.keys()]).toEqual(['2', '3'])
  expect([...map.values()]).toEqual([{ number: 20 }, { number: 3 }])
  map.set('1', { number: 1 })
  expect([...map.keys()]).toEqual(['2', '3', '1'])
})

test('values can be deleted while a slot map is read', () => {
  const map = new SlotMap<number, { readonly number: number }>()
  for (let number = 0; number < 5; number++) map.set(number, { number })
  const numbers: number[] = []
  for (const { number } of map.values()) {
    numbers.push(number)
    map.delete(number)
    map.delete(number + 1)
  }
  expect(numbers).toEqual([0, 2, 4])
  expect(map.size).toBe(0)
})
