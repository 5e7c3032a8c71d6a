import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const isBuilt = existsSync(new URL('../dist/index.js', import.meta.url))

describe.skipIf(!isBuilt)('the examples', () => {
  it('webhooks that fail, hang and outlive a restart get all in order', async () => {
    const script = fileURLToPath(new URL('../examples/push.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 50_000 })
    expect(stdout).toContain('all 12 events have arrived in order')
  })

  it('agents of the mesh find each other through the registry, and refuse replays, old requests and strangers', async () => {
    const script = fileURLToPath(new URL('../examples/mesh-prices.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 30_000 })
    expect(stdout.match(/^✓/gm)).toHaveLength(8)
    expect(stdout).toContain('the registry is empty')
  })

  it('an analyst asks two agents and the person, is killed in the middle, and streams its report', async () => {
    const script = fileURLToPath(new URL('../examples/analyst.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 50_000 })
    expect(stdout).toContain('└─ Writer, task')
    expect(stdout).toContain('Nobody was asked twice, and all of it is in one trace.')
  })
})
