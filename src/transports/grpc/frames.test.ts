import { describe, expect, test } from 'vitest'
import { collect } from '../../../test/support/async.ts'
import { frame, grpcIncoming } from '../../../test/support/grpc/grpc-incoming.ts'
import { encodeFrame, readMessage, readMessages } from './frames.ts'
import { messageNamed } from './proto-registry.ts'

const hello = new TextEncoder().encode('hello')
const limit = 16

function incoming(...body: Uint8Array[]) {
  return grpcIncoming({ path: '/', body })
}

const wrong = (status: string) => expect.objectContaining({ name: 'StatusError', status })

test('a frame is a mark, a length of four bytes and the message', () => {
  const part = encodeFrame(messageNamed('lf.a2a.v1.Part'), { text: 'hello' })
  expect([...part]).toEqual([0, 0, 0, 0, 7, 0x0a, 5, ...hello])
})

describe('a call with one message', () => {
  test('gives it', async () => {
    expect(Buffer.from(await readMessage(incoming(frame(hello)), limit)).toString()).toBe('hello')
  })

  test('may have an empty one', async () => {
    expect(await readMessage(incoming(frame(new Uint8Array())), limit)).toHaveLength(0)
  })

  test('may have one that is as long as the limit, and no longer', async () => {
    expect(await readMessage(incoming(frame(new Uint8Array(limit))), limit)).toHaveLength(limit)
    await expect(readMessage(incoming(frame(new Uint8Array(limit + 1))), limit)).rejects.toEqual(
      wrong('RESOURCE_EXHAUSTED'),
    )
  })

  test('is refused if it announces more than the limit and sends little', async () => {
    const announced = Uint8Array.of(0, 0xff, 0xff, 0xff, 0xff, 1)
    await expect(readMessage(incoming(announced), limit)).rejects.toEqual(wrong('RESOURCE_EXHAUSTED'))
  })

  test('is refused if it has none, or two', async () => {
    await expect(readMessage(incoming(), limit)).rejects.toEqual(wrong('UNIMPLEMENTED'))
    const two = incoming(frame(Uint8Array.of(1)), frame(Uint8Array.of(2)))
    await expect(readMessage(two, limit)).rejects.toEqual(wrong('UNIMPLEMENTED'))
  })

  test('is refused if it ends too early', async () => {
    for (const length of [1, 5, 9]) {
      await expect(readMessage(incoming(frame(hello).subarray(0, length)), limit)).rejects.toEqual(wrong('INTERNAL'))
    }
  })
})

describe('a conversation', () => {
  test('gives the same messages however its bytes are cut', async () => {
    const bytes = Buffer.concat([frame(hello), frame(new Uint8Array()), frame(Uint8Array.of(1, 2))])
    for (let size = 1; size <= bytes.length; size++) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.subarray(n * size, (n + 1) * size),
      )
      const messages = await collect(readMessages(incoming(...pieces), limit))
      expect(messages.map((message) => [...message])).toEqual([[...hello], [], [1, 2]])
    }
  })

  test('is refused when a message is too long, or does not end', async () => {
    const long = incoming(frame(hello), frame(new Uint8Array(limit + 1)))
    await expect(collect(readMessages(long, limit))).rejects.toEqual(wrong('RESOURCE_EXHAUSTED'))
    const cut = incoming(frame(hello).subarray(0, 7))
    await expect(collect(readMessages(cut, limit))).rejects.toEqual(wrong('INTERNAL'))
  })
})
