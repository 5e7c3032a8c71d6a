import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../../test/support/temporary-directory.ts'
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

describe('what is said to an agent', () => {
  it.each<[string, Input, object[]]>([
    ['a text', 'hello', [{ text: 'hello' }]],
    ['a part', { text: 'hello' }, [{ text: 'hello' }]],
    ['JSON', data({ pages: 2 }), [{ data: { pages: 2 }, mediaType: 'application/json' }]],
    ['bytes', bytes, [{ raw, mediaType: 'application/octet-stream' }]],
    ['a Blob', new Blob(['a,b'], { type: 'text/csv' }), [{ raw, mediaType: 'text/csv' }]],
    ['a File', new File(['a,b'], 'q1.csv', { type: 'text/csv' }), [{ raw, filename: 'q1.csv', mediaType: 'text/csv' }]],
    ['the text of a file', { name: 'q1.csv', content: 'a,b' }, [{ raw, filename: 'q1.csv' }]],
    ['the bytes of a file', { name: 'q1.csv', content: bytes }, [{ raw, filename: 'q1.csv' }]],
    ['a stream', { name: 'q1.csv', content: new Blob(['a,b']).stream() }, [{ raw, filename: 'q1.csv' }]],
    ['chunks', { name: 'q1.csv', content: chunks() }, [{ raw, filename: 'q1.csv' }]],
    [
      'where a file is',
      { name: 'q1.csv', content: new URL('https://files.example.com/q1.csv'), mediaType: 'text/csv' },
      [{ url: 'https://files.example.com/q1.csv', filename: 'q1.csv', mediaType: 'text/csv' }],
    ],
    ['several of them', ['Read this', bytes], [{ text: 'Read this' }, { raw, mediaType: 'application/octet-stream' }]],
  ])('is %s', async (_, input, parts) => {
    expect(await toParts(input)).toEqual(parts)
  })

  it('is a file of this machine, by its path or URL', async () => {
    const path = await fileOf('a,b')
    const url = pathToFileURL(path)
    const part = { raw, filename: 'a file.csv' }
    expect(await toParts([{ path }, { path: url }, { path: url.href }])).toEqual([part, part, part])
    expect(await toParts({ path, name: 'q1.csv', mediaType: 'text/csv' })).toEqual([
      { raw, filename: 'q1.csv', mediaType: 'text/csv' },
    ])
  })

  it('never is the URL of a file, which means nothing elsewhere, but the file', async () => {
    const content = pathToFileURL(await fileOf('a,b'))
    expect(await toParts({ name: 'q1.csv', content })).toEqual([{ raw, filename: 'q1.csv' }])
  })

  it('is refused with what is wrong', async () => {
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
