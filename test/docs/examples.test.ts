import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'

const isBuilt = existsSync(new URL('../../dist/index.js', import.meta.url))

/** What a program prints at its end when everything was as it should be. */
const endings = {
  'provider.ts': 'It is noon in Bern.',
  'approval.ts': 'Each payment was prepared once, and only the approved one was made.',
  'sub-agents.ts': '2 of 3 agents answered.',
  'gateway/start.ts': 'The old agent is gone, and its answer is still here.',
  'mcp.ts': "The MCP client, with the skill of an agent: { item: 'chair', price: 40 }",
}

describe.skipIf(!isBuilt)('the examples', () => {
  it.each(Object.entries(endings))('%s runs to its end', async (name, ending) => {
    const script = fileURLToPath(new URL(`../../examples/${name}`, import.meta.url))
    const { BASE_URL: _, ...env } = process.env
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 50_000, env })
    expect(stdout.trimEnd().endsWith(ending)).toBe(true)
  })

  it('the file store passes the suite of task logs in node:test', async () => {
    const script = fileURLToPath(new URL('../../examples/file-store/file-log.test.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, ['--test', '--test-reporter=tap', script], {
      timeout: 50_000,
    })
    expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(60)
    expect(stdout).toMatch(/^# fail 0$/m)
  })

  it('the index lists every example', async () => {
    const folder = new URL('../../examples/', import.meta.url)
    const index = await readFile(new URL('README.md', folder), 'utf8')
    const names = (await readdir(folder)).filter((name) => name !== 'README.md')
    expect(names.filter((name) => !index.includes(`](${name})`))).toEqual([])
  })

  it('a failing webhook receives all events in order across a restart (push.ts)', async () => {
    const script = fileURLToPath(new URL('../../examples/push.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 50_000 })
    expect(stdout).toContain('all 14 events have arrived in order')
  })

  it('mesh agents find each other and refuse replays, old requests and unknown keys (mesh-prices.ts)', async () => {
    const script = fileURLToPath(new URL('../../examples/mesh-prices.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 30_000 })
    expect(stdout.match(/^✓/gm)).toHaveLength(8)
    expect(stdout).toContain('the registry is empty')
  })

  it('a killed analyst resumes and streams its report (analyst.ts)', async () => {
    const script = fileURLToPath(new URL('../../examples/analyst.ts', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [script], { timeout: 50_000 })
    expect(stdout).toContain('└─ Writer, task')
    expect(stdout).toContain('Every agent and tool was called once, and all calls are in one trace.')
  })
})
