import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const isBuilt = existsSync(new URL('../dist/index.js', import.meta.url))

describe.skipIf(!isBuilt)('the examples', () => {
  it('a failing webhook receives all events in order across a restart (push.ts)', async () => {
    const script = fileURLToPath(new URL('../examples/push.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 50_000 })
    expect(stdout).toContain('all 13 events have arrived in order')
  })

  it('mesh agents find each other and refuse replays, old requests and unknown keys (mesh-prices.ts)', async () => {
    const script = fileURLToPath(new URL('../examples/mesh-prices.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 30_000 })
    expect(stdout.match(/^✓/gm)).toHaveLength(8)
    expect(stdout).toContain('the registry is empty')
  })

  it('a killed analyst resumes and streams its report (analyst.ts)', async () => {
    const script = fileURLToPath(new URL('../examples/analyst.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 50_000 })
    expect(stdout).toContain('└─ Writer, task')
    expect(stdout).toContain('Every agent and tool was called once, and all calls are in one trace.')
  })
})
