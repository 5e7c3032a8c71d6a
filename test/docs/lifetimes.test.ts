import { readFile } from 'node:fs/promises'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { createWireClient } from '../support/wire/wire-client.ts'
import { forgetAlice } from './lifetimes/erase.ts'
import { start } from './lifetimes/limits.ts'

const page = await readFile(new URL('../../docs/lifetimes.md', import.meta.url), 'utf8')

it('every snippet of the guide is code that is tested here', async () => {
  const snippets = Array.from(page.matchAll(/```ts\n(.*?)```/gs), ([, code]) => code)
  const files = await Promise.all(
    ['limits', 'erase'].map(async (name) => {
      const code = await readFile(new URL(`./lifetimes/${name}.ts`, import.meta.url), 'utf8')
      return code.replace("'../../../src/index.ts'", "'parley-a2a'")
    }),
  )
  expect(snippets).toEqual(files)
})

it('the server of the guide answers, and erases what it is told to', async () => {
  const server = await start(await temporaryDirectory())
  onTestFinished(() => server.close())
  expect((await createWireClient(server.url).send('hi')).message?.parts).toEqual([{ text: 'hi' }])
  expect(await forgetAlice(server)).toBe('removed 0 tasks and 0 webhooks')
  expect(await server.erase({ principal: { id: 'anonymous' } })).toMatchObject({ tasks: [{ events: 2 }] })
})
