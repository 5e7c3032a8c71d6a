import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/entries/client.node.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const run = promisify(execFile)

/** The instructions of the Dockerfile for users, in order. */
async function instructions(): Promise<readonly (readonly [name: string, value: string])[]> {
  const lines = (await readFile(join(root, 'deploy/Dockerfile'), 'utf8')).split('\n')
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

it('the steps of the Dockerfile make an agent that answers and passes its health check', async () => {
  const directory = await temporaryDirectory()
  const [project, image, data] = ['project', 'image', 'data'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  await mkdir(project)
  await mkdir(image)
  const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', directory], {
    cwd: root,
  })
  const [{ filename = '' } = {}] = Object.values(JSON.parse(packed.stdout)) as { readonly filename?: string }[]
  await rename(join(directory, filename), join(directory, 'parley.tgz'))
  const dependencies = { 'parley-a2a': 'file:../parley.tgz' }
  await writeFile(join(project, 'package.json'), JSON.stringify({ private: true, type: 'module', dependencies }))
  await writeFile(
    join(project, 'agent.ts'),
    `import { agent, serve } from 'parley-a2a'\nawait serve(agent({ name: 'Echo' }, (turn) => turn.text), { auth: 'none' })\n`,
  )
  await run('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund'], { cwd: project })

  const local = (text: string) =>
    text.replaceAll('/data', data).replaceAll('node:node', `${process.getuid?.()}:${process.getgid?.()}`)
  let env = { ...process.env }
  for (const [name, value] of await instructions()) {
    if (name === 'ENV') {
      const values = local(value)
        .split(' ')
        .map((pair) => pair.split('=') as [string, string])
      env = { ...env, ...Object.fromEntries(values), HOST: '127.0.0.1', PORT: `${await freePort()}` }
    }
    if (name === 'COPY') {
      const sources = value.split(' ').slice(0, -1)
      for (const source of sources) await cp(join(project, source), join(image, source), { recursive: true })
    }
    if (name === 'RUN') await run('sh', ['-c', local(value)], { cwd: image, env })
    if (name === 'CMD') {
      const [program = '', ...args] = JSON.parse(value) as string[]
      const child = spawn(program, args, { cwd: image, env })
      onTestFinished(() => void child.kill('SIGKILL'))
      const url = `http://127.0.0.1:${env.PORT}`
      await expect
        .poll(
          () =>
            fetch(`${url}/readyz`).then(
              ({ status }) => status,
              () => 0,
            ),
          { timeout: 60_000 },
        )
        .toBe(200)
      expect((await (await connect(url)).send('hello')).text).toBe('hello')
    }
  }
  const health = (await instructions()).find(([name]) => name === 'HEALTHCHECK')?.[1] ?? ''
  const [program = '', ...args] = JSON.parse(health.slice(health.indexOf('CMD ') + 4)) as string[]
  await run(program, args, { env })
  await expect(run(program, args, { env: { ...env, PORT: '1' } })).rejects.toMatchObject({ code: 1 })
})
