import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { coalesce } from './sse-writer.ts'

test('what is ready together is one chunk', async () => {
  async function* source() {
    yield 'a'
    await Promise.resolve()
    yield 'b'
    yield 'c'
    await sleep(5)
    yield 'd'
    yield 'e'
  }
  expect(await Array.fromAsync(coalesce(source(), 100))).toEqual(['abc', 'de'])
})

test('a chunk ends when it has reached its limit', async () => {
  async function* source() {
    for (let item = 0; item < 7; item++) yield 'xx'
  }
  expect(await Array.fromAsync(coalesce(source(), 5))).toEqual(['xxxxxx', 'xxxxxx', 'xx'])
})

test('at most one item is pulled ahead of the chunk that was asked for', async () => {
  let pulled = 0
  async function* source() {
    for (;;) {
      pulled++
      yield 'x'
    }
  }
  const chunks = coalesce(source(), 10)
  expect((await chunks.next()).value).toBe('xxxxxxxxxx')
  await sleep(5)
  expect(pulled).toBeLessThanOrEqual(11)
})

test('a failure comes after the items that were ready before it', async () => {
  async function* source() {
    yield 'a'
    yield 'b'
    throw new Error('lost')
  }
  const chunks = coalesce(source(), 100)
  expect(await chunks.next()).toEqual({ done: false, value: 'ab' })
  await expect(chunks.next()).rejects.toThrow('lost')
})

test('a source that is always ready leaves others their turn', async () => {
  async function* source() {
    for (;;) yield 'x'.repeat(1000)
  }
  let turns = 0
  const ticking = setInterval(() => turns++, 0)
  const chunks = coalesce(source(), 10_000)
  const end = performance.now() + 50
  while (performance.now() < end) await chunks.next()
  clearInterval(ticking)
  expect(turns).toBeGreaterThan(5)
})
