import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts'
import { data, type Input, toParts } from './send-request.ts'

const raw = Buffer.from('a,b').toString('base64')
const bytes = new TextEncoder().encode('a,b')

async function fileOf(text: string): Promise<string> {
  const path = join(await temporaryDirectory(), 'a file.csv')
  await writeFile(path, text)
  return path
}

async function* chunks() {
  yield bytes.subarray(0, 1)
  yield bytes.subarray(1)
}

describe('toParts', () => {
  it.each<[string, Input, object[]]>([
    ['text', 'hello', [{ text: 'hello' }]],
    ['a part', { text: 'hello' }, [{ text: 'hello' }]],
    ['JSON', data({ pages: 2 }), [{ data: { pages: 2 }, mediaType: 'application/json' }]],
    ['bytes', bytes, [{ raw, mediaType: 'application/octet-stream' }]],
    ['a Blob', new Blob(['a,b'], { type: 'text/csv' }), [{ raw, mediaType: 'text/csv' }]],
    ['a File', new File(['a,b'], 'q1.csv', { type: 'text/csv' }), [{ raw, filename: 'q1.csv', mediaType: 'text/csv' }]],
    ['a file with text', { name: 'q1.csv', content: 'a,b' }, [{ raw, filename: 'q1.csv' }]],
    ['a file with bytes', { name: 'q1.csv', content: bytes }, [{ raw, filename: 'q1.csv' }]],
    ['a file with a stream', { name: 'q1.csv', content: new Blob(['a,b']).stream() }, [{ raw, filename: 'q1.csv' }]],
    ['a file with chunks', { name: 'q1.csv', content: chunks() }, [{ raw, filename: 'q1.csv' }]],
    [
      'a file with a URL',
      { name: 'q1.csv', content: new URL('https://files.example.com/q1.csv'), mediaType: 'text/csv' },
      [{ url: 'https://files.example.com/q1.csv', filename: 'q1.csv', mediaType: 'text/csv' }],
    ],
    ['a list', ['Read this', bytes], [{ text: 'Read this' }, { raw, mediaType: 'application/octet-stream' }]],
  ])('%s becomes parts', async (_, input, parts) => {
    expect(await toParts(input)).toEqual(parts)
  })

  it('a path or file URL is read from this machine', async () => {
    const path = await fileOf('a,b')
    const url = pathToFileURL(path)
    const part = { raw, filename: 'a file.csv' }
    expect(await toParts([{ path }, { path: url }, { path: url.href }])).toEqual([part, part, part])
    expect(await toParts({ path, name: 'q1.csv', mediaType: 'text/csv' })).toEqual([
      { raw, filename: 'q1.csv', mediaType: 'text/csv' },
    ])
  })

  it('a file URL as content is read, because it means nothing on another machine', async () => {
    const content = pathToFileURL(await fileOf('a,b'))
    expect(await toParts({ name: 'q1.csv', content })).toEqual([{ raw, filename: 'q1.csv' }])
  })

  it('invalid input is rejected with a reason', async () => {
    await expect(toParts([])).rejects.toMatchObject({ code: 'invalid-params' })
    await expect(toParts({ path: './no-such-file' })).rejects.toMatchObject({
      code: 'invalid-params',
      message: 'The file ./no-such-file cannot be read: no such file or directory.',
    })
    await expect(toParts({ name: 'x', content: brokenStream() })).rejects.toThrow('The input cannot be read: no more.')
    await expect(toParts({ what: 1 } as unknown as Input)).rejects.toThrow('an object with what')
  })
})

async function* brokenStream(): AsyncGenerator<Uint8Array> {
  yield bytes
  throw new Error('no more')
}
