import { expect, it } from 'vitest'
import { buildInto } from '../support/package/published.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const folders = new Set([
  'entries',
  ...['base', 'client', 'dialects', 'http', 'protocol', 'schema', 'transports'].map((folder) => `core/${folder}`),
])

it('the published client reaches neither the runtime nor node:*', async () => {
  const { sources, packages } = (await buildInto(await temporaryDirectory())).reachableFrom('client.js')
  expect(sources).toContain('src/core/client/client.ts')
  const reached = new Set(sources.map((path) => /^src\/((?:core\/)?[^/]+)\//.exec(path)?.[1]).filter(Boolean))
  expect([...reached].filter((folder) => !folders.has(`${folder}`))).toEqual([])
  expect(packages.filter((name) => name.startsWith('node:'))).toEqual([])
})
