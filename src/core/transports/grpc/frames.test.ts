import { deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { collect } from '../../../../test/support/async.ts'
import { frame, grpcIncoming } from '../../../../test/support/grpc/grpc-incoming.ts'
import { encodeFrame, inflate, readMessage, readMessages, requireEncoding } from './frames.ts'
import { messageNamed } from './proto-registry.ts'

const hello = new TextEncoder().encode('hello')
const limit = 16

function incoming(...body: Uint8Array[]) {
  return grpcIncoming({ path: '/', body })
}

const statusError = (status: string) => expect.objectContaining({ name: 'StatusError', status })

test('a frame is a compression flag, a length of four bytes and the message', () => {
  const part = encodeFrame(messageNamed('lf.a2a.v1.Part'), { text: 'hello' })
  expect([...part]).toEqual([0, 0, 0, 0, 7, 0x0a, 5, ...hello])
})

describe('readMessage', () => {
  test('readMessage returns the only message', async () => {
    expect(Buffer.from(await readMessage(incoming(frame(hello)), limit)).toString()).toBe('hello')
  })

  test('readMessage accepts an empty message', async () => {
    expect(await readMessage(incoming(frame(new Uint8Array())), limit)).toHaveLength(0)
  })

  test('readMessage accepts a message of exactly the limit and rejects a longer one', async () => {
    expect(await readMessage(incoming(frame(new Uint8Array(limit))), limit)).toHaveLength(limit)
    await expect(readMessage(incoming(frame(new Uint8Array(limit + 1))), limit)).rejects.toEqual(
      statusError('RESOURCE_EXHAUSTED'),
    )
  })

  test('readMessage rejects an announced length above the limit, however little arrives', async () => {
    const announced = Uint8Array.of(0, 0xff, 0xff, 0xff, 0xff, 1)
    await expect(readMessage(incoming(announced), limit)).rejects.toEqual(statusError('RESOURCE_EXHAUSTED'))
  })

  test('readMessage rejects a body with no message or two', async () => {
    await expect(readMessage(incoming(), limit)).rejects.toEqual(statusError('UNIMPLEMENTED'))
    const two = incoming(frame(Uint8Array.of(1)), frame(Uint8Array.of(2)))
    await expect(readMessage(two, limit)).rejects.toEqual(statusError('UNIMPLEMENTED'))
  })

  test('readMessage rejects a body that ends within a message', async () => {
    for (const length of [1, 5, 9]) {
      await expect(readMessage(incoming(frame(hello).subarray(0, length)), limit)).rejects.toEqual(
        statusError('INTERNAL'),
      )
    }
  })
})

describe('readMessages', () => {
  test('readMessages yields the same messages however the bytes are split', async () => {
    const bytes = Buffer.concat([frame(hello), frame(new Uint8Array()), frame(Uint8Array.of(1, 2))])
    for (let size = 1; size <= bytes.length; size++) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) =>
        bytes.subarray(n * size, (n + 1) * size),
      )
      const messages = await collect(readMessages(incoming(...pieces), limit))
      expect(messages.map((message) => [...message])).toEqual([[...hello], [], [1, 2]])
    }
  })

  test('readMessages rejects a message that is too long or incomplete', async () => {
    const long = incoming(frame(hello), frame(new Uint8Array(limit + 1)))
    await expect(collect(readMessages(long, limit))).rejects.toEqual(statusError('RESOURCE_EXHAUSTED'))
    const cut = incoming(frame(hello).subarray(0, 7))
    await expect(collect(readMessages(cut, limit))).rejects.toEqual(statusError('INTERNAL'))
  })
})

describe('compression', () => {
  const limit = 1_000

  test('inflate reads gzip and deflate', async () => {
    const message = Buffer.from('hello '.repeat(100))
    expect(Buffer.from(await inflate(gzipSync(message), 'gzip', limit))).toEqual(message)
    expect(Buffer.from(await inflate(deflateSync(message), 'deflate', limit))).toEqual(message)
  })

  test('inflate rejects a small message that inflates beyond the limit', async () => {
    const bomb = gzipSync(new Uint8Array(64 * 2 ** 20))
    await expect(inflate(bomb, 'gzip', limit)).rejects.toEqual(statusError('RESOURCE_EXHAUSTED'))
  })

  test('inflate rejects bytes that are not in the named format', async () => {
    await expect(inflate(Uint8Array.of(1, 2, 3), 'gzip', limit)).rejects.toEqual(statusError('INTERNAL'))
    await expect(inflate(gzipSync('hello').subarray(0, 12), 'gzip', limit)).rejects.toEqual(statusError('INTERNAL'))
  })

  test('inflate rejects a compressed message without a named encoding', async () => {
    await expect(inflate(gzipSync('hello'), undefined, limit)).rejects.toEqual(statusError('INTERNAL'))
    await expect(inflate(gzipSync('hello'), 'identity', limit)).rejects.toEqual(statusError('INTERNAL'))
  })

  test('requireEncoding rejects an unknown encoding and names the known ones', () => {
    for (const encoding of [undefined, 'identity', 'gzip', 'deflate'])
      expect(() => requireEncoding(encoding)).not.toThrow()
    expect(() => requireEncoding('snappy')).toThrow('compressed with snappy cannot be read, but identity,gzip,deflate')
  })
})
