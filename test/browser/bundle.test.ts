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

it.each(['react', 'ai-sdk-chat', 'ag-ui'])(
  'the published %s reaches the client, and neither the runtime nor node:*',
  async (entry) => {
    const { sources, packages } = (await buildInto(await temporaryDirectory())).reachableFrom(`${entry}.js`)
    const reached = sources.map((path) => /^src\/((?:core\/)?[^/]+(?:\/ui)?)\//.exec(path)?.[1])
    expect(reached.filter((folder) => folder && !folders.has(folder) && folder !== 'integrations/ui')).toEqual([])
    expect(packages.filter((name) => name.startsWith('node:'))).toEqual([])
  },
)
