import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { configuredKeys, generateSigningKey } from '../../src/entries/mesh.ts'
import { readAsSnippet, snippetsOf } from '../support/package/snippets.ts'
import { openPool, secondPool } from '../support/postgres/pools.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'
import { startReplica } from './registry/replicas.ts'

const snippets = await snippetsOf('guides/registry.md')
const programs = snippets.slice(0, -1)

it.each(programs.map((code, index) => [index + 1, code] as const))('snippet %d of the guide runs', async (_, code) => {
  const cwd = await temporaryDirectory()
  await writeFile(join(cwd, 'snippet.ts'), code)
  const { stdout } = await promisify(execFile)(process.execPath, [join(cwd, 'snippet.ts')], { timeout: 30_000, cwd })
  expect(stdout).not.toBe('')
})

it('the last snippet is a file that these tests run', async () => {
  const page = await readFile(new URL('../../docs/guides/registry.md', import.meta.url), 'utf8')
  expect(page).toContain(await readAsSnippet(new URL('./registry/replicas.ts', import.meta.url)))
})

it('the replicas of the guide share one registry', async () => {
  const pool = await openPool()
  const key = await generateSigningKey()
  const trust = { key, keys: await configuredKeys({}) }
  const [one, two] = [await startReplica(pool, trust), await startReplica(secondPool(pool), trust)]
  onTestFinished(async () => {
    for (const replica of [one, two]) {
      await replica.close()
      await replica.registry.entries.close()
    }
  })
  const { latest } = await two.registry.entries.changes(0, 1)
  const changes = two.registry.follow({ after: latest })
  await one.registry.entries.put(
    {
      kind: 'mesh',
      id: 'tea-agent',
      name: 'Tea',
      endpoint: 'https://tea.example/mesh',
      seen: Date.now(),
      card: {
        agent_id: 'tea-agent',
        name: 'Tea',
        version: '1.0.0',
        description: '',
        capabilities: ['tea'],
        supported_protocols: ['A2A/1.0'],
      },
    },
    { terms: ['c:tea'], rank: 0 },
  )
  expect((await changes.next()).value).toMatchObject({ type: 'registered', id: 'tea-agent' })
  expect((await two.registry.search({ capability: 'tea' })).totalCount).toBe(1)
})
