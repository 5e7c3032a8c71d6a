import { readFile } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { readAsSnippet } from '../support/package/snippets.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { createWireClient } from '../support/wire/wire-client.ts'
import { eraseAlice } from './lifetimes/erase.ts'
import { start } from './lifetimes/limits.ts'

it('every snippet of the guide is a file that these tests run', async () => {
  const page = await readFile(new URL('../../docs/guides/lifetimes.md', import.meta.url), 'utf8')
  const snippets = Array.from(page.matchAll(/```ts\n(.*?)```/gs), ([, code]) => code)
  const files = await Promise.all(
    ['limits', 'erase'].map((name) => readAsSnippet(new URL(`./lifetimes/${name}.ts`, import.meta.url))),
  )
  expect(snippets).toEqual(files)
})

it('the server of the guide answers and erases the data of a principal', async () => {
  const server = await start(await temporaryDirectory())
  onTestFinished(() => server.close())
  expect((await createWireClient(server.url).send('hi')).message?.parts).toEqual([{ text: 'hi' }])
  expect(await eraseAlice(server)).toBe('removed 0 tasks and 0 webhooks')
  expect(await server.erase({ principal: { id: 'anonymous' } })).toMatchObject({ tasks: [{ events: 2 }] })
})
