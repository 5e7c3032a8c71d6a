import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/entries/client.node.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const main = fileURLToPath(new URL('../../demo/main.ts', import.meta.url))
const isBuilt = existsSync(new URL('../../dist/index.js', import.meta.url))
const hasCurl = spawnSync('curl', ['--version']).status === 0

/** Starts the demo in a temporary directory and returns its output up to the point where it is ready. */
async function startDemo() {
  const directory = await temporaryDirectory()
  const demo = spawn(process.execPath, [main], {
    cwd: directory,
    env: { ...process.env, PORT: '0', DEMO_PACE: '1' },
  })
  const ended = once(demo, 'exit').then(([code]) => code)
  onTestFinished(async () => {
    demo.kill('SIGKILL')
    await ended
  })
  let output = ''
  for await (const chunk of demo.stdout) {
    output += chunk
    if (output.includes('Stop it')) break
  }
  return { directory, demo, ended, output }
}

/** The URL of the demo agent. */
const addressIn = (output: string) => /Agent\s+(\S+)/.exec(output)?.[1] ?? ''

/** Runs a printed curl command; without curl, sends the same request. */
async function run(command: string): Promise<string> {
  if (hasCurl) return (await promisify(execFile)('bash', ['-c', command])).stdout
  const [, url = '', body = ''] = /^curl \S+ (\S+) .* -d '(.*)'$/.exec(command) ?? []
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
  return await (await fetch(url, { method: 'POST', headers, body })).text()
}

describe.skipIf(!isBuilt)('the demo', () => {
  it('the start text is ten lines with a chat and a curl command, which streams an answer', async () => {
    const { directory, output } = await startDemo()
    expect(output.trim().split('\n').length).toBeLessThanOrEqual(10)
    expect(output).toContain(`npx parley chat ${addressIn(output)}`)
    const [stream = ''] = output.match(/curl .*/g) ?? []

    const events = (await run(stream)).split('\n\n').filter((event) => event.includes('artifactUpdate'))
    expect(events.length).toBeGreaterThan(40)
    expect(events[1]).toContain('Hello ')
    expect(existsSync(join(directory, '.parley', 'reporter.db'))).toBe(true)
  })

  it('a caller answers the question and calls the typed skill', async () => {
    const client = await connect(addressIn((await startDemo()).output))
    const conversation = client.conversation()
    const question = await conversation.send('Sales')
    expect(question.task?.status.state).toBe('input-required')
    expect((await conversation.send('publish')).text).toBe('The report about Sales is published.')
    expect(await client.skill('growth', { before: 200, after: 214 })).toEqual({ percent: 7 })
  })

  it('the demo prints the addresses of its console and its card', async () => {
    const { output } = await startDemo()
    const address = addressIn(output)
    const [, link = ''] = /^Console\s+(http\S+)\n/.exec(output.trimStart()) ?? []
    const opened = await fetch(link, { redirect: 'manual' })
    const [cookie = ''] = (opened.headers.get('set-cookie') ?? '').split(';')
    expect((await fetch(`${address}/console/api/v1/agents`, { headers: { cookie } })).status).toBe(200)
    const headers = { accept: 'text/html' }
    const page = await fetch(address, { headers })
    expect([page.status, page.url]).toEqual([200, `${address}/console/`])
    const card = await fetch(/Card\s+(\S+)/.exec(output)?.[1] ?? '')
    const { name, supportedInterfaces } = (await card.json()) as {
      name: string
      supportedInterfaces: { url: string }[]
    }
    expect({ name, url: supportedInterfaces[0]?.url }).toEqual({ name: 'Reporter', url: `${address}/` })
  })

  it('a directory that cannot be written is an error without advice about ports', async () => {
    const directory = await temporaryDirectory()
    await writeFile(join(directory, '.parley'), '')
    const { status, stderr } = spawnSync(process.execPath, [main], {
      cwd: directory,
      env: { ...process.env, PORT: '0' },
      encoding: 'utf8',
    })
    expect(status).toBe(1)
    expect(stderr).toContain('cannot be created, because its directory is a file')
    expect(stderr).not.toMatch(/\bport\b/i)
  })

  it('a port that is taken is an error that says how to choose another one', async () => {
    const { output } = await startDemo()
    const port = new URL(addressIn(output)).port
    const { status, stderr } = spawnSync(process.execPath, [main], {
      cwd: await temporaryDirectory(),
      env: { ...process.env, PORT: port },
      encoding: 'utf8',
    })
    expect(status).toBe(1)
    expect(stderr).toContain(`Port ${port} on 127.0.0.1 is in use`)
    expect(stderr).toContain('PORT=4001 npm start')
  })

  it('SIGINT stops the demo', async () => {
    const { demo, ended } = await startDemo()
    demo.kill('SIGINT')
    expect(await ended).toBe(0)
  })
})

describe('npm start', () => {
  const script = fileURLToPath(new URL('../../scripts/start.ts', import.meta.url))

  /** A package with the scripts of a build, whose demo prints a line. */
  async function createPackage({ code = '', demo = `console.log('demo runs')` } = {}) {
    const directory = await temporaryDirectory()
    const write = (path: string) =>
      `import fs from 'node:fs'\nfs.mkdirSync('${dirname(path)}', { recursive: true })\nfs.writeFileSync('${path}', '')\n`
    const files = {
      'src/index.ts': '',
      'demo/main.ts': demo,
      'code.mjs': `${write('dist/index.js')}console.log('chunk list')\n${code}`,
      'console.mjs': write('dist/console/index.html'),
      'package.json': JSON.stringify({
        scripts: { start: `node ${script}`, 'build:code': 'node code.mjs', 'build:console': 'node console.mjs' },
      }),
    }
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(directory, path)), { recursive: true })
      await writeFile(join(directory, path), content)
    }
    return directory
  }
  const start = (directory: string) => spawnSync(process.execPath, [script], { cwd: directory, encoding: 'utf8' })

  it('a build names its steps, and is repeated only after a change', { timeout: 30_000 }, async () => {
    const directory = await createPackage()
    const first = start(directory)
    expect(first.stderr).toMatch(/^Building Parley.*: code … console … done in \d+ s\.\n$/)
    expect(first.stdout).toBe('demo runs\n')
    expect(start(directory)).toMatchObject({ status: 0, stdout: 'demo runs\n', stderr: '' })
    const later = new Date(Date.now() + 5000)
    await utimes(join(directory, 'src/index.ts'), later, later)
    expect(start(directory).stderr).toContain('Building')
  })

  it('a build that fails prints its output and ends npm start', { timeout: 30_000 }, async () => {
    const { status, stdout, stderr } = start(await createPackage({ code: `throw new Error('a type is wrong')` }))
    expect(status).toBe(1)
    expect(stderr).toContain('chunk list')
    expect(stderr).toContain('a type is wrong')
    expect(stdout).toBe('')
  })

  it('SIGTERM ends the demo of npm start', { timeout: 30_000 }, async () => {
    const npm = spawn('npm', ['start'], {
      cwd: await createPackage({ demo: `setInterval(() => {}, 1000); console.log('demo runs', process.pid)` }),
    })
    let output = ''
    npm.stdout.on('data', (chunk) => {
      output += chunk
    })
    await expect.poll(() => output, { timeout: 20_000 }).toContain('demo runs')
    onTestFinished(() => {
      if (!npm.stdout.closed) process.kill(Number(/runs (\d+)/.exec(output)?.[1]), 'SIGKILL')
    })
    npm.kill('SIGTERM')
    // The demo holds the standard output of npm until it ends.
    await once(npm.stdout, 'close')
  })
})
