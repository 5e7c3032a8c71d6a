import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { documents, missingPaths } from '../support/package/named-paths.ts'
import { snippetsOf } from '../support/package/snippets.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

describe.each([
  'guides/testing.md',
  'guides/push-receiving.md',
  'guides/skills.md',
  'guides/turns.md',
  'guides/delegation.md',
  'guides/loop.md',
  'guides/mcp.md',
  'guides/observability.md',
  'guides/mesh-bridge.md',
])('docs/%s', async (page) => {
  const snippets = await snippetsOf(page)

  it.each(snippets.map((code, index) => [index + 1, code] as const))('snippet %d runs', async (_, code) => {
    const file = join(await temporaryDirectory(), 'snippet.ts')
    await writeFile(file, code)
    await promisify(execFile)(process.execPath, [file], { timeout: 30_000 })
  })
})

it.each(documents())('every path that %s names exists', (document) => {
  expect(missingPaths(document)).toEqual([])
})
