import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { templates } from '../../create-parley-a2a/create.js'
import { connect } from '../../src/entries/client.node.ts'
import { hasPrograms, programPath } from '../support/programs/programs.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** Where the agent of each template answers, as its README says. */
const paths: Readonly<Record<string, string>> = {
  express: '/agents/reporter',
  next: '/agents/reporter',
  gateway: '/reporter',
}

describe.skipIf(!hasPrograms)('a project that npm create parley-a2a starts', () => {
  /** The packed packages, as the registry would have them, and the oldest Node that runs .ts files. */
  let packages: string
  let env: NodeJS.ProcessEnv

  beforeAll(async () => {
    packages = await mkdtemp(join(tmpdir(), 'parley-'))
    const pack = ['pack', '--ignore-scripts', '--pack-destination', packages]
    await run('npm', pack, { cwd: root })
    await run('npm', [...pack, '--workspace', 'create-parley-a2a'], { cwd: root })
    const tarballs = (await readdir(packages)).map((name) => `./${name}`)
    await writeFile(join(packages, 'package.json'), '{ "private": true }')
    await npm(['install', ...tarballs], packages, process.env)
    const node = dirname(await programPath('node-22.18'))
    // Without the variables of the npm that runs these tests, which would choose its own Node.
    const own = Object.entries(process.env).filter(([name, value]) => !/^npm_/i.test(name) && value !== '')
    const quiet = { WRANGLER_SEND_METRICS: 'false', NEXT_TELEMETRY_DISABLED: '1' }
    env = { ...Object.fromEntries(own), ...quiet, PATH: `${node}${delimiter}${process.env.PATH}` }
  }, 300_000)

  afterAll(() => rm(packages, { recursive: true, force: true }))

  const npm = (args: readonly string[], cwd: string, environment = env) =>
    run('npm', ['--no-audit', '--no-fund', '--loglevel=error', ...args], { cwd, env: environment, timeout: 280_000 })

  for (const template of Object.keys(templates)) {
    it(`${template}: installs, has right types, passes its tests, starts and answers`, {
      timeout: 400_000,
    }, async () => {
      const folder = await temporaryDirectory()
      const project = join(folder, 'my-agent')
      // Through the command line, which finds the creator where npm would install it.
      const created = await run(join(packages, 'node_modules/.bin/parley'), ['init', project, '--template', template], {
        cwd: packages,
        env,
      })
      expect(created.stdout).toContain('npm start')
      for (const file of [
        'agent.ts',
        'agent.test.ts',
        'client.ts',
        'tsconfig.json',
        '.env.example',
        'Dockerfile',
        '.gitignore',
      ]) {
        await access(join(project, file))
      }
      expect((await readFile(join(project, 'README.md'), 'utf8')).split('\n').length).toBeLessThanOrEqual(32)

      // Ports that nothing else uses, in place of those of the templates.
      const [port, agentPort] = await Promise.all([freePort(), freePort()])
      for (const file of ['package.json', 'gateway.yaml', 'server.ts', 'client.ts']) {
        const text = await readFile(join(project, file), 'utf8').catch(() => undefined)
        if (text === undefined) continue
        await writeFile(join(project, file), text.replaceAll('4000', `${port}`).replaceAll('4001', `${agentPort}`))
      }
      const manifest = JSON.parse(await readFile(join(project, 'package.json'), 'utf8'))
      expect(manifest.name).toBe('my-agent')
      manifest.dependencies['parley-a2a'] = `file:${(await tarball()).replace(/^\.\//, `${packages}/`)}`
      await writeFile(join(project, 'package.json'), JSON.stringify(manifest))
      await npm(['install'], project)
      expect((await run('npm', ['exec', '-c', 'node --version'], { cwd: project, env })).stdout.trim()).toBe('v22.18.0')
      await npm(['run', 'check'], project)
      await npm(['test'], project)

      if (template === 'gateway') await start('npm run --silent agent', project, `http://127.0.0.1:${agentPort}`)
      await start('npm start --silent', project, `http://127.0.0.1:${port}${paths[template] ?? ''}`)
      const called = await npm(['run', '--silent', 'client'], project)
      expect(called.stdout).toContain('completed')
    })
  }

  /** Starts a program of the project in a group of its own, and waits until its agent can be called. */
  async function start(line: string, project: string, url: string): Promise<void> {
    const [program = '', ...args] = line.split(' ')
    const child = spawn(program, args, { cwd: project, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout?.on('data', (chunk) => (output += chunk))
    child.stderr?.on('data', (chunk) => (output += chunk))
    onTestFinished(() => stop(child))
    const deadline = Date.now() + 120_000
    for (;;) {
      try {
        await connect(url, { timeout: 5_000 })
        return
      } catch (error) {
        if (Date.now() > deadline || child.exitCode !== null) throw new Error(`${line}:\n${output}`, { cause: error })
        await new Promise((resolve) => setTimeout(resolve, 250))
      }
    }
  }

  const tarball = async () => `./${(await readdir(packages)).find((name) => /^parley-a2a-.*\.tgz$/.test(name)) ?? ''}`
})

/** Ends a program and what it started. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  process.kill(-child.pid, 'SIGTERM')
  const timer = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), 15_000)
  await exited
  clearTimeout(timer)
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number }
  server.close()
  await once(server, 'close')
  return port
}
