import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/connect.ts'
import { createDatabase } from '../support/postgres/database.ts'

const script = fileURLToPath(new URL('../../examples/replicas/agent.mjs', import.meta.url))
const isBuilt = existsSync(new URL('../../dist/stores/postgres/index.js', import.meta.url))

const upTo15 = Array.from({ length: 15 }, (_, index) => `${index + 1}`)

async function startReplica(url: string) {
  const env = { ...process.env, DATABASE_URL: url, PORT: '0' }
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const line = once(createInterface(child.stdout), 'line')
  const [address] = await Promise.race([line, exited.then(() => Promise.reject(new Error('it did not start')))])
  return { client: await connect(`${address}`), stop: () => child.kill('SIGTERM'), exited }
}

/** The number in the first match, in a file of the example. */
async function numberIn(file: string, pattern: RegExp): Promise<number> {
  const text = await readFile(new URL(`../../examples/replicas/${file}`, import.meta.url), 'utf8')
  return Number(pattern.exec(text)?.[1]?.replaceAll('_', ''))
}

it('what surrounds the replicas of the example fits them: ports, times, versions', async () => {
  const port = await numberIn('compose.yaml', /PORT: "(\d+)"/)
  expect(await numberIn('nginx.conf', /server agent:(\d+) resolve;/)).toBe(port)
  const published = await numberIn('compose.yaml', /ports: \["(\d+):\1"\]/)
  expect(await numberIn('nginx.conf', /listen (\d+);/)).toBe(published)
  expect(await numberIn('compose.yaml', /PUBLIC_URL: http:\/\/localhost:(\d+)/)).toBe(published)
  // Turns have ten seconds to finish, and their callers two more to read how they did.
  for (const grace of [
    await numberIn('compose.yaml', /stop_grace_period: (\d+)s/),
    await numberIn('counter@.service', /TimeoutStopSec=(\d+)/),
  ]) {
    expect(grace).toBeGreaterThan(12)
  }
  // A stream is silent for 15 seconds at the most, and a blocking send is answered before the balancer gives up.
  const patience = await numberIn('nginx.conf', /proxy_read_timeout (\d+)s/)
  expect(patience).toBeGreaterThan(15)
  expect(patience * 1000).toBeGreaterThan(await numberIn('agent.mjs', /blockFor: ([\d_]+)/))
  const { version } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  expect(version.startsWith(`${await numberIn('Dockerfile', /parley-a2a@([\d.]+)/)}.`)).toBe(true)
})

describe.skipIf(!isBuilt)('the example of replicas', () => {
  it('counts on one, is followed on the other, and is finished although the first is told to go', async () => {
    const database = await createDatabase()
    onTestFinished(() => database.drop())
    const [one, two] = await Promise.all([startReplica(database.url), startReplica(database.url)])
    const begun = await one.client.send('15', { returnImmediately: true })
    if (begun.type !== 'task') throw new Error('expected a task')
    const followed = two.client.task(begun.task.id)
    one.stop()
    const ended = await followed.wait({ timeout: 50_000 })
    expect(ended.task?.status.state).toBe('completed')
    expect(ended.artifacts.map(({ text }) => text.trim().split(' '))).toEqual([upTo15])
    expect((await one.exited)[0]).toBe(0)
  })
})
