import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createProject } from '../../create-parley-a2a/create.js'
import { connect } from '../../src/entries/client.node.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** The instructions of a Dockerfile, in order. */
async function instructionsOf(file: string): Promise<readonly (readonly [name: string, value: string])[]> {
  const lines = (await readFile(file, 'utf8')).split('\n')
  return lines
    .filter((line) => /^[A-Z]/.test(line))
    .map((line) => {
      const at = line.indexOf(' ')
      return [line.slice(0, at), line.slice(at + 1)] as const
    })
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** Writes the project of a user into a folder. */
type WriteProject = (project: string) => Promise<void>

async function writeAgent(project: string): Promise<void> {
  await mkdir(project)
  await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies: {} }))
  await writeFile(
    join(project, 'agent.ts'),
    `import { agent, serve } from 'parley-a2a'\nawait serve(agent({ name: 'Echo' }, (turn) => turn.text), { auth: 'none' })\n`,
  )
  await cp(join(root, 'deploy/Dockerfile'), join(project, 'Dockerfile'))
}

const fromTemplate =
  (template: string): WriteProject =>
  async (project) => {
    createProject(project, template)
  }

describe('the steps of a Dockerfile make an agent that answers and passes its health check', () => {
  it.each([
    ['deploy/', writeAgent],
    ['the template plain', fromTemplate('plain')],
    ['the template gateway', fromTemplate('gateway')],
  ] as const)('%s', async (_, writeProject) => {
    const directory = await temporaryDirectory()
    const [project, image, data] = ['project', 'image', 'data'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ]
    await mkdir(image)
    await writeProject(project)
    const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory], {
      cwd: root,
    })
    const [{ filename = '' } = {}] = Object.values(JSON.parse(packed.stdout)) as { readonly filename?: string }[]
    await rename(join(directory, filename), join(directory, 'parley.tgz'))
    const manifest = JSON.parse(await readFile(join(project, 'package.json'), 'utf8'))
    manifest.dependencies['parley-a2a'] = 'file:../parley.tgz'
    await writeFile(join(project, 'package.json'), JSON.stringify(manifest))
    await run('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund'], { cwd: project })

    const port = `${await freePort()}`
    // The paths, the user and the port of the image, as this machine has them.
    const local = (text: string) =>
      text
        .replaceAll('/data', data)
        .replaceAll('node:node', `${process.getuid?.()}:${process.getgid?.()}`)
        .replaceAll('0.0.0.0', '127.0.0.1')
        .replaceAll('4000', port)
    const steps = (await instructionsOf(join(project, 'Dockerfile'))).map(
      ([name, value]) => [name, local(value)] as const,
    )
    let env = { ...process.env }
    for (const [name, value] of steps) {
      if (name === 'ENV') {
        const values = value.split(' ').map((pair) => pair.split('=') as [string, string])
        env = { ...env, ...Object.fromEntries(values) }
      }
      if (name === 'COPY') {
        const sources = value.split(' ').slice(0, -1)
        for (const source of sources) await cp(join(project, source), join(image, source), { recursive: true })
      }
      if (name === 'RUN') await run('sh', ['-c', value], { cwd: image, env })
      if (name === 'CMD') {
        if (manifest.scripts?.agent) await listenOnPort(join(image, 'gateway.yaml'), port)
        const [program = '', ...args] = JSON.parse(value) as string[]
        const child = spawn(program, args, { cwd: image, env, detached: true })
        onTestFinished(() => void (child.pid && process.kill(-child.pid, 'SIGKILL')))
        const url = `http://127.0.0.1:${port}`
        const statusOf = (path: string) =>
          fetch(url + path).then(
            ({ status }) => status,
            () => 0,
          )
        await expect.poll(() => statusOf('/livez'), { timeout: 60_000 }).toBe(200)
        if (manifest.scripts?.agent) continue // the agent behind the gateway does not run here
        const reply = await (await connect(url)).send('hello')
        expect(reply.task?.status.state ?? reply.text).toMatch(/hello|completed|input-required/)
      }
    }
    const health = steps.find(([name]) => name === 'HEALTHCHECK')?.[1] ?? ''
    const [program = '', ...args] = JSON.parse(health.slice(health.indexOf('CMD ') + 4)) as string[]
    await run(program, args, { env })
    const elsewhere = args.map((arg) => arg.replaceAll(port, '1'))
    await expect(run(program, elsewhere, { env: { ...env, PORT: '1' } })).rejects.toMatchObject({ code: 1 })
  })
})

async function listenOnPort(file: string, port: string): Promise<void> {
  await writeFile(file, (await readFile(file, 'utf8')).replace('port: 4000', `port: ${port}`))
}
