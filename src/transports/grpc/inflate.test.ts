import { deflateSync, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { inflate, requireEncoding } from './frames.ts'

const limit = 1_000
const wrong = (status: string) => expect.objectContaining({ name: 'StatusError', status })

test('messages compressed with gzip and deflate are read', async () => {
  const message = Buffer.from('hello '.repeat(100))
  expect(Buffer.from(await inflate(gzipSync(message), 'gzip', limit))).toEqual(message)
  expect(Buffer.from(await inflate(deflateSync(message), 'deflate', limit))).toEqual(message)
})

test('a small message that unfolds into a giant one is refused', async () => {
  const bomb = gzipSync(new Uint8Array(64 * 2 ** 20))
  await expect(inflate(bomb, 'gzip', limit)).rejects.toEqual(wrong('RESOURCE_EXHAUSTED'))
})

test('what is not compressed as it says is refused', async () => {
  await expect(inflate(Uint8Array.of(1, 2, 3), 'gzip', limit)).rejects.toEqual(wrong('INTERNAL'))
  await expect(inflate(gzipSync('hello').subarray(0, 12), 'gzip', limit)).rejects.toEqual(wrong('INTERNAL'))
})

test('a compressed message needs a name for its compression', async () => {
  await expect(inflate(gzipSync('hello'), undefined, limit)).rejects.toEqual(wrong('INTERNAL'))
  await expect(inflate(gzipSync('hello'), 'identity', limit)).rejects.toEqual(wrong('INTERNAL'))
})

test('a compression that is not known is refused, and the known ones are named', () => {
  for (const encoding of [undefined, 'identity', 'gzip', 'deflate'])
    expect(() => requireEncoding(encoding)).not.toThrow()
  expect(() => requireEncoding('snappy')).toThrow('compressed with snappy cannot be read, but identity,gzip,deflate')
})
