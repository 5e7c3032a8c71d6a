import { expect, test } from 'vitest'
import { awaitFirst } from './sse-writer.ts'

const options = { patience: 10_000, late: () => -1 }

test('what comes back starts with the item that was waited for', async () => {
  async function* source() {
    yield 1
    yield 2
  }
  expect(await Array.fromAsync(await awaitFirst(source(), options))).toEqual([1, 2])
})

test('an empty source stays empty', async () => {
  async function* source() {}
  expect(await Array.fromAsync(await awaitFirst(source(), options))).toEqual([])
})

test('a failure before the first item is the failure of the call', async () => {
  // biome-ignore lint/correctness/useYield: it fails before it yields
  async function* source(): AsyncGenerator<number> {
    throw new Error('no such task')
  }
  await expect(awaitFirst(source(), options)).rejects.toThrow('no such task')
})

test('a failure after the first item breaks the stream', async () => {
  async function* source() {
    yield 1
    throw new Error('lost')
  }
  const seen: number[] = []
  const read = async () => {
    for await (const item of await awaitFirst(source(), options)) seen.push(item)
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
  const rest = await awaitFirst(source(), options)
  await rest[Symbol.asyncIterator]().return?.()
  expect(released).toBe(true)
})

test('there is a stream after a while although nothing has come, and a failure is told in it', async () => {
  const go = Promise.withResolvers<void>()
  async function* source(fails: boolean) {
    await go.promise
    if (fails) throw new Error('lost')
    yield 1
  }
  const [working, failing] = [source(false), source(true)].map((each) => awaitFirst(each, { ...options, patience: 1 }))
  const streams = [await working, await failing]
  go.resolve()
  expect(await Promise.all(streams.map((stream) => Array.fromAsync(stream ?? [])))).toEqual([[1], [-1]])
})
