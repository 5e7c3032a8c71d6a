import { execFile, type SpawnOptions, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { commentExamples, type Page, pages, type Snippet } from '../support/package/pages.ts'
import { createDatabase } from '../support/postgres/database.ts'
import { hasPrograms, programPath } from '../support/programs/programs.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const isBuilt = existsSync(join(root, 'dist/index.js'))

/** Pages whose programs need a database, an identity provider, another runtime or a framework, and the tests that run them. */
const runElsewhere: Readonly<Record<string, string>> = {
  'docs/guides/durable-turns.md': 'test/docs/durable-turns.test.ts',
  'docs/guides/frameworks.md': 'test/docs/frameworks.test.ts',
  'docs/guides/front-ends.md': 'test/browser/front-ends.slow.test.ts',
  'docs/guides/lifetimes.md': 'test/docs/lifetimes.test.ts',
  'docs/guides/mesh.md': 'test/docs/mesh.test.ts',
  'docs/guides/registry.md': 'test/docs/registry.test.ts',
  'docs/guides/scaling.md': 'test/faults/example-replicas.slow.test.ts',
  'docs/guides/security.md': 'test/docs/security.test.ts',
}

/** The port that the pages use. If it is taken on this machine, programs and commands get a free one instead. */
const port = '4000'

/** Commands of the newcomer's path. Other pages show commands with placeholders. */
const isRunnable = (command: string) => /^(?:npx parley-a2a|node --test|curl) /.test(command)
const withCommands = (path: string) => path === 'README.md' || path.startsWith('docs/tutorial/')

/** Pages about callers only: their programs expect an agent at the port. */
function needsAgent({ snippets }: Page): boolean {
  const programs = snippets.filter(({ language }) => language !== 'sh')
  return programs.some(({ code }) => code.includes(port)) && !programs.some(({ code }) => code.includes('serve('))
}

const all = pages()

it('every program of the pages, and every example of a doc comment, compiles in strict mode', {
  timeout: 240_000,
}, async () => {
  const folder = join(root, 'node_modules/.cache/snippets')
  await rm(folder, { recursive: true, force: true })
  const lines = new Map<string, string>()
  for (const { path, snippets } of [...all, ...commentExamples()]) {
    for (const { file, code, line, language } of snippets) {
      if (language === 'sh') continue
      const target = join(path.replace(/\.md$/, ''), file)
      lines.set(target, `${path}:${line}`)
      await mkdir(dirname(join(folder, target)), { recursive: true })
      await writeFile(join(folder, target), code)
    }
  }
  await writeFile(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: { incremental: false, jsx: 'react-jsx', types: ['node'] },
      include: [
        '**/*.ts',
        '**/*.tsx',
        join(root, 'test/support/package/runtime-globals.d.ts'),
        join(root, 'src/integrations/agents/frameworks.d.ts'),
      ],
      exclude: [],
    }),
  )
  // The native compiler takes a quarter of the time. Elsewhere, the types are checked by all supported versions.
  const compiler = hasPrograms ? await programPath('typescript-7') : join(root, 'node_modules/typescript/bin/tsc')
  const output = await promisify(execFile)(process.execPath, [compiler, '-p', folder], { cwd: folder }).then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
  const problems = output.split('\n').filter((text) => text !== '')
  expect(problems.map((text) => `${lines.get(text.replace(/\(.*/s, '')) ?? ''} ${text}`)).toEqual([])
})

describe.skipIf(!isBuilt)('the programs and commands of a page run in order, as they stand', () => {
  it.each(all.filter(({ path }) => !(path in runElsewhere)).map((page) => [page.path, page] as const))(
    '%s',
    { timeout: 120_000 },
    async (_, page) => {
      const free = await freePort(Number(port))
      const snippets = page.snippets.map((snippet) => ({ ...snippet, code: snippet.code.replaceAll(port, `${free}`) }))
      const project = await createProject({ ...page, snippets })
      const needsDatabase = snippets.some(({ code }) => code.includes('DATABASE_URL'))
      const env = needsDatabase ? { DATABASE_URL: (await createDatabase()).url } : {}
      if (needsAgent(page)) {
        const options = { cwd: project, env: { PORT: `${free}` } }
        await runUntilReady(process.execPath, ['sample-agent.ts'], options, 'the sample agent')
      }
      for (const snippet of snippets) await runSnippet(snippet, { cwd: project, env }, page)
    },
  )
})

it.each(Object.entries(runElsewhere))('%s is run by %s', (page, test) => {
  expect([existsSync(join(root, page)), existsSync(join(root, test))]).toEqual([true, true])
})

/** A project of a reader: the built package, everything that the page imports, and the files that it names. */
async function createProject({ snippets }: Page): Promise<string> {
  const project = await temporaryDirectory()
  const modules = join(project, 'node_modules')
  await mkdir(modules, { recursive: true })
  const imports = snippets.flatMap(({ code }) =>
    [...code.matchAll(/from '((?:@[\w-]+\/)?[\w-]+)/g)].map(([, name]) => name),
  )
  const names = new Set([...imports, ...Object.keys(manifest.dependencies)])
  for (const name of names) {
    const target = name === manifest.name ? root : join(root, 'node_modules', name ?? '')
    if (name === undefined || !existsSync(target) || name === 'node') continue
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(target, join(modules, name))
  }
  await mkdir(join(modules, '.bin'))
  const program = `#!/bin/sh\nexec '${process.execPath}' '${join(root, manifest.bin['parley-a2a'])}' "$@"\n`
  await writeFile(join(modules, '.bin/parley-a2a'), program, { mode: 0o755 })
  await writeFile(join(project, 'package.json'), '{ "private": true, "type": "module" }')
  for (const { file, code, language } of snippets) {
    if (language === 'sh') continue
    await mkdir(dirname(join(project, file)), { recursive: true })
    await writeFile(join(project, file), code)
  }
  await cp(join(root, 'test/support/package/sample-files'), project, { recursive: true })
  return project
}

/** The wanted port, or any other one if it is taken. */
async function freePort(wanted: number): Promise<number> {
  const server = createServer()
  const listening = once(server, 'listening')
  server.listen(wanted, '127.0.0.1')
  try {
    await listening
  } catch {
    return await freePort(0)
  }
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

async function runSnippet({ language, file, code, line }: Snippet, options: SpawnOptions, page: Page): Promise<void> {
  if (language === 'ts') await runUntilReady(process.execPath, [file], options, `${page.path}:${line}`)
  if (language !== 'sh' || !withCommands(page.path)) return
  for (const command of code.split('\n').filter(isRunnable)) {
    await runUntilReady('bash', ['-c', command], options, `${page.path}:${line} ${command}`)
  }
}

/** Runs a program until it ends. A server stays up until the end of the page, for the programs and commands after it. */
async function runUntilReady(program: string, args: readonly string[], options: SpawnOptions, name: string) {
  const env = { ...process.env, ...options.env, PARLEY_LOG_LEVEL: 'info' }
  const child = spawn(program, args, { ...options, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit').then(([code, signal]) => ({ code, signal }))
  onTestFinished(async () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
    await ended
  })
  let output = ''
  const ready = new Promise<'ready'>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        output += chunk
        if (/server ready|listening/i.test(output)) resolve('ready')
      })
    }
  })
  const outcome = await Promise.race([ended, ready])
  if (outcome !== 'ready' && outcome.code !== 0) throw new Error(`${name} failed:\n${output}`)
}
