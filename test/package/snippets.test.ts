import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { createConsumer } from '../support/package/consumer.ts'

const isBuilt = existsSync(new URL('../../dist/index.js', import.meta.url))

describe.skipIf(!isBuilt)('a new project with the packages that a page says to install', () => {
  it.each(['guides/mcp.md', 'guides/loop.md'])('the first program of docs/%s runs as it stands', async (page) => {
    const text = await readFile(new URL(`../../docs/${page}`, import.meta.url), 'utf8')
    const packages = /^npm install (.+)$/m.exec(text)?.[1]?.split(' ') ?? []
    const program = /^```ts\n(.*?)^```$/ms.exec(text)?.[1] ?? ''
    expect(packages).toContain(manifest.name)
    const others = packages.filter((name) => name !== manifest.name)
    const project = await createConsumer(others, { 'main.ts': program })
    await promisify(execFile)(process.execPath, [join(project, 'main.ts')], { timeout: 50_000 })
  })
})
