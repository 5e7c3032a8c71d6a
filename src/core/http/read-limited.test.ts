import { expect, it } from 'vitest'
import { BodyTooLarge } from './exchange.ts'
import { readLimited } from './read-limited.ts'

async function* chunks(): AsyncGenerator<Uint8Array> {
  yield Uint8Array.of(1, 2)
  yield Uint8Array.of(3)
}

it('a body is read completely unless it exceeds the limit', async () => {
  for (const body of [chunks, () => new Response(Uint8Array.of(1, 2, 3)).body]) {
    expect(await readLimited(body(), 3)).toEqual(Uint8Array.of(1, 2, 3))
    await expect(readLimited(body(), 2)).rejects.toThrow(BodyTooLarge)
  }
})

it('a stream beyond the limit is canceled', async () => {
  let isCanceled = false
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(10)),
    cancel() {
      isCanceled = true
    },
  })
  await expect(readLimited(endless, 100)).rejects.toThrow(BodyTooLarge)
  expect(isCanceled).toBe(true)
})

it('a missing body has no bytes', async () => {
  expect(await readLimited(null, 0)).toEqual(new Uint8Array())
})
