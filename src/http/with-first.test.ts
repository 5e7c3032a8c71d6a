import { expect, test } from 'vitest'
import { withFirst } from './with-first.ts'

test('what comes back starts with the item that was waited for', async () => {
  async function* source() {
    yield 1
    yield 2
  }
  expect(await Array.fromAsync(await withFirst(source()))).toEqual([1, 2])
})

test('an empty source stays empty', async () => {
  async function* source() {}
  expect(await Array.fromAsync(await withFirst(source()))).toEqual([])
})

test('a failure before the first item is the failure of the call', async () => {
  // biome-ignore lint/correctness/useYield: it fails before it yields
  async function* source(): AsyncGenerator<number> {
    throw new Error('no such task')
  }
  await expect(withFirst(source())).rejects.toThrow('no such task')
})

test('a failure after the first item breaks the stream', async () => {
  async function* source() {
    yield 1
    throw new Error('lost')
  }
  const seen: number[] = []
  const read = async () => {
    for await (const item of await withFirst(source())) seen.push(item)
  }
  await expect(read()).rejects.toThrow('lost')
  expect(seen).toEqual([1])
})

test('the source is released although nobody read the first item', async () => {
  let released = false
  async function* source() {
    try {
      yield 1
      yield 2
    } finally {
      released = true
    }
  }
  const rest = await withFirst(source())
  await rest[Symbol.asyncIterator]().return?.()
  expect(released).toBe(true)
})
