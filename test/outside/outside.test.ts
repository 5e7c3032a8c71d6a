import { type ChildProcess, spawn } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { installPackage } from '../support/package/consumer.ts'

/**
 * Programs as users write them, each in a process of its own, with the packed package and the default `fetch`. Other tests
 * import the sources and mostly hand in a `fetch`, so they see neither what a process prints when it ends nor what keeps
 * it alive.
 */
const folder = fileURLToPath(new URL('.', import.meta.url))
const docs = fileURLToPath(new URL('../../docs', import.meta.url))

/** What the guides' programs import besides Parley. */
const packages = [
  'zod',
  'rxjs',
  'ai',
  '@modelcontextprotocol/client',
  '@modelcontextprotocol/server',
  '@hono/node-server',
]

/** Pages whose first program needs something that is not here, is only a part of a program, or is a test. */
const incomplete = new Set(['backup.md', 'scaling.md', 'security.md', 'writing-a-store.md'])

const programs = (await readdir(join(folder, 'programs'))).filter((name) => name.endsWith('.ts')).sort()
const pages = (await Promise.all([firstPrograms('guides'), firstPrograms('tutorial')])).flat()

let project: string
let server: ChildProcess | undefined
let environment: NodeJS.ProcessEnv

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'parley-outside-'))
  await installPackage(project, packages)
  await cp(folder, join(project, 'outside'), { recursive: true })
  await mkdir(join(project, 'pages'))
  await Promise.all(pages.map(({ page, program }) => writeFile(join(project, 'pages', `${page}.ts`), program)))
  const variables = { ...process.env, NODE_OPTIONS: '', AGENT_KEY: 'parley_a_key_of_the_programs_0123456789' }
  server = spawn(process.execPath, ['outside/server.ts'], {
    cwd: project,
    env: variables,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const urls = await new Promise<string>((resolve, reject) => {
    server?.stdout?.once('data', (text) => resolve(`${text}`))
    server?.once('exit', (code) => reject(new Error(`the server of the programs ended with exit code ${code}`)))
  })
  environment = { ...variables, ...JSON.parse(urls) }
})

afterAll(async () => {
  server?.kill()
  await rm(project, { recursive: true, force: true })
})

describe.concurrent('programs of users', () => {
  it.each(programs)('%s ends by itself, without an error and with nothing left open', async (program) => {
    const outcome = await run(`outside/programs/${program}`)
    expect(outcome).toMatchObject({ code: 0, stderr: '', left: '' })
    expect(outcome.stdout).not.toBe('')
  })
})

describe.concurrent('the first programs of guides and tutorial', () => {
  it.each(pages.filter(({ isServer }) => !isServer))('$page ends by itself', async ({ page }) => {
    expect(await run(`pages/${page}.ts`)).toMatchObject({ code: 0, stderr: '', left: '' })
  })

  it.each(pages.filter(({ isServer }) => isServer))('$page serves until it gets SIGTERM', async ({ page }) => {
    const outcome = await run(`pages/${page}.ts`, 'server ready')
    expect(outcome).toMatchObject({ code: 0, left: '' })
    expect(outcome.stderr).not.toMatch(/"level":"(warn|error)"/)
  })
})

interface Outcome {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
  /** The resources that were active a second after the last line of the program. */
  readonly left: string
}

/** Runs a program in a folder of its own. A server is ended when its log has a line that shows that it is ready. */
async function run(program: string, readyLine?: string): Promise<Outcome> {
  const cwd = await mkdtemp(join(project, `${basename(program)}-`))
  const runner = readyLine === undefined ? [join(project, 'outside/run-program.mjs')] : []
  const child = spawn(process.execPath, [...runner, join(project, program)], {
    cwd,
    env: { ...environment, ...(readyLine !== undefined && { PARLEY_LOG_LEVEL: 'info' }) },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), 30_000)
  const texts = ['', '', '']
  child.stdio.slice(1).forEach((stream, index) => {
    stream?.on('data', (chunk) => {
      texts[index] += `${chunk}`
      if (readyLine !== undefined && `${chunk}`.includes(readyLine)) child.kill('SIGTERM')
    })
  })
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  clearTimeout(timer)
  const [stdout = '', stderr = '', left = ''] = texts
  return { code, stdout, stderr, left }
}

/** The first program of each page. Ports are free ones, because several pages use the same. */
async function firstPrograms(section: string) {
  const names = (await readdir(join(docs, section))).filter((name) => name.endsWith('.md') && !incomplete.has(name))
  const found = names.map(async (page) => {
    const [, block] = /^```ts\n(.*?)^```/ms.exec(await readFile(join(docs, section, page), 'utf8')) ?? []
    if (block === undefined) return []
    const program = block.replace(/\b4000\b/g, '0')
    const isServer = /^(const server = )?await serve\(/m.test(block) && !/^await (server\.)?close\(\)/m.test(block)
    return [{ page, program, isServer }]
  })
  return (await Promise.all(found)).flat()
}
