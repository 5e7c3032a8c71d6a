import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryDirectory } from './support/temporary-directory.ts'
import type { WireOutcome, WireResponse } from './support/wire/wire-client.ts'

const main = fileURLToPath(new URL('../demo/main.ts', import.meta.url))
const isBuilt = existsSync(new URL('../dist/index.js', import.meta.url))
const hasCurl = spawnSync('curl', ['--version']).status === 0

/** Starts the demo in a temporary directory and returns its output up to the point where it is ready. */
async function startDemo() {
  const directory = await temporaryDirectory()
  const demo = spawn(process.execPath, [main], { cwd: directory, env: { ...process.env, PORT: '0' } })
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

/** Runs a printed curl command; without curl, sends the same request. */
async function run(command: string): Promise<string> {
  if (hasCurl) return (await promisify(execFile)('bash', ['-c', command])).stdout
  const [, url = '', body = ''] = /^curl \S+ (\S+) .* -d '(.*)'$/.exec(command) ?? []
  const headers = { 'content-type': 'application/json', 'a2a-version': '1.0' }
  return await (await fetch(url, { method: 'POST', headers, body })).text()
}

describe.skipIf(!isBuilt)('the demo', () => {
  it('the printed curl commands send and stream a message', async () => {
    const { directory, output } = await startDemo()
    const [send = '', stream = ''] = output.match(/curl .*/g) ?? []

    const { result } = JSON.parse(await run(send)) as WireResponse<WireOutcome>
    expect(result?.task?.status).toMatchObject({
      state: 'TASK_STATE_COMPLETED',
      message: { parts: [{ text: 'You said: Hello Parley' }] },
    })
    expect(result?.task?.artifacts).toMatchObject([
      { name: 'echo.txt', parts: [{ text: 'Hello ' }, { text: 'Parley' }] },
    ])

    // Event 5 closes the artifact, which the chunk before it says.
    const events = (await run(stream)).split('\n\n').filter(Boolean)
    expect(events.map((event) => /^id: (\d+)$/m.exec(event)?.[1])).toEqual(['2', '3', '4', '5', '7'])
    expect(existsSync(join(directory, '.parley', 'echo.db'))).toBe(true)
  })

  it('the demo prints its URL and the URL of its card', async () => {
    const { output } = await startDemo()
    const address = /address\s+(\S+)/.exec(output)?.[1] ?? ''
    const card = await fetch(/card\s+(\S+)/.exec(output)?.[1] ?? '')
    const { name, supportedInterfaces } = (await card.json()) as {
      name: string
      supportedInterfaces: { url: string }[]
    }
    expect({ name, url: supportedInterfaces[0]?.url }).toEqual({ name: 'Echo', url: `${address}/` })
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
    expect(stderr).not.toMatch(/port/i)
  })

  it('a port that is taken is an error that says how to choose another one', async () => {
    const { output } = await startDemo()
    const port = new URL(/address\s+(\S+)/.exec(output)?.[1] ?? '').port
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
