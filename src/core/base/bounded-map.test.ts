import { describe, expect, it } from 'vitest'
import { BoundedMap } from './bounded-map.ts'

function keysIn(map: BoundedMap<string, number>, keys: string): string {
  return [...keys].filter((key) => map.has(key)).join('')
}

describe('a bounded map', () => {
  it('a bounded map returns what was stored last', () => {
    const map = new BoundedMap<string, number>(2)
    map.set('a', 1)
    map.set('a', 2)
    expect([map.get('a'), map.get('b'), map.size]).toEqual([2, undefined, 1])
    map.delete('a')
    expect(map.get('a')).toBeUndefined()
  })

  it('a bounded map drops the oldest entry first', () => {
    const map = new BoundedMap<string, number>(2)
    for (const key of 'abcd') map.set(key, 1)
    expect(map.size).toBe(2)
    expect(keysIn(map, 'abcd')).toBe('cd')
  })

  it('a bounded map keeps entries that are used, even if all are', () => {
    const map = new BoundedMap<string, number>(3)
    for (const key of 'abc') map.set(key, 1)
    map.get('a')
    map.set('b', 2)
    map.set('d', 1)
    expect(keysIn(map, 'abcd')).toBe('abd')
    map.set('e', 1)
    expect([map.size, map.has('e')]).toEqual([3, true])
  })

  it('a bounded map never holds more than its limit, however it is used', () => {
    const map = new BoundedMap<string, number>(5)
    for (let n = 0; n < 1_000; n++) {
      map.set(`${(n * 7) % 11}`, n)
      map.get(`${n % 3}`)
      if (n % 5 === 0) map.delete(`${n % 11}`)
      expect(map.size).toBeLessThanOrEqual(5)
    }
  })

  it('a bounded map forgets an entry from its moment on', () => {
    let now = 0
    const map = new BoundedMap<string, number>(2, () => now)
    map.set('a', 1, 10)
    map.set('b', 1)
    now = 9
    expect(keysIn(map, 'ab')).toBe('ab')
    now = 10
    expect(keysIn(map, 'ab')).toBe('b')
    expect(map.size).toBe(1)
  })

  it('a bounded map drops an expired entry before one that is used', () => {
    let now = 0
    const map = new BoundedMap<string, number>(2, () => now)
    map.set('a', 1)
    map.set('b', 1, 10)
    expect(keysIn(map, 'ab')).toBe('ab')
    now = 10
    map.set('c', 1)
    expect(keysIn(map, 'abc')).toBe('ac')
  })
})
