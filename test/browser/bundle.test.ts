import { expect, it } from 'vitest'
import { buildInto } from '../support/package/published.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const folders = new Set(['base', 'client', 'dialects', 'entries', 'http', 'protocol', 'schema', 'transports'])

it('the published client reaches neither the runtime nor node:*', async () => {
  const { sources, packages } = (await buildInto(await temporaryDirectory())).reachableFrom('client.js')
  expect(sources).toContain('src/client/client.ts')
  const reached = new Set(sources.filter((path) => path.startsWith('src/')).map((path) => path.split('/')[1]))
  expect([...reached].filter((folder) => !folders.has(`${folder}`))).toEqual([])
  expect(packages.filter((name) => name.startsWith('node:'))).toEqual([])
})
