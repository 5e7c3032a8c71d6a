import { spawn } from 'node:child_process'
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installPackage } from '../support/package/consumer.ts'

/**
 * Programs as users write them, each in a process of its own, with the packed package and the default `fetch`. Other tests
 * import the sources and mostly hand in a `fetch`, so they see neither what a process prints when it ends nor what keeps
 * it alive.
 */
const folder = fileURLToPath(new URL('.', import.meta.url))
const programs = (await readdir(join(folder, 'programs'))).filter((name) => name.endsWith('.ts')).sort()

let project: string
let url: string
let server: ReturnType<typeof spawn> | undefined

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'parley-outside-'))
  await installPackage(project, [])
  await cp(folder, join(project, 'outside'), { recursive: true })
  server = spawn(process.execPath, ['outside/server.ts'], { cwd: project, stdio: ['ignore', 'pipe', 'inherit'] })
  url = await new Promise((resolve) => server?.stdout?.once('data', (text) => resolve(`${text}`.trim())))
})

afterAll(async () => {
  server?.kill()
  await rm(project, { recursive: true, force: true })
})

describe('programs of users', () => {
  it.each(programs)('%s ends by itself, without an error and with nothing left open', async (program) => {
    const outcome = await run(program)
    expect(outcome).toMatchObject({ code: 0, stderr: '', left: '' })
    expect(outcome.stdout).not.toBe('')
  })
})

interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** The resources that were active a second after the last line of the program. */
  readonly left: string
}

async function run(program: string): Promise<Outcome> {
  const child = spawn(process.execPath, ['outside/run-program.mjs', `outside/programs/${program}`], {
    cwd: project,
    env: { ...process.env, AGENT_URL: url, NODE_OPTIONS: '' },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000)
  const texts = ['', '', '']
  child.stdio.slice(1).forEach((stream, index) => {
    stream?.on('data', (chunk) => {
      texts[index] += `${chunk}`
    })
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  const [stdout = '', stderr = '', left = ''] = texts
  return { code, stdout, stderr, left }
}
