import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/connect.ts'
import { createDatabase } from '../support/postgres/database.ts'

const script = fileURLToPath(new URL('../../examples/replicas/agent.mjs', import.meta.url))
const isBuilt = existsSync(new URL('../../dist/postgres.js', import.meta.url))

const upTo15 = Array.from({ length: 15 }, (_, index) => `${index + 1}`)

async function startReplica(url: string, more: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, DATABASE_URL: url, PORT: '0', ...more }
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const line = once(createInterface(child.stdout), 'line')
  const [address] = await Promise.race([line, exited.then(() => Promise.reject(new Error('it did not start')))])
  return { url: `${address}`, client: await connect(`${address}`), stop: () => child.kill('SIGTERM'), exited }
}

/** Gives each request to the next replica, whoever asks, as the balancer of the example does. */
async function startBalancer() {
  const replicas: { readonly url: string; served: number }[] = []
  let next = 0
  const server = createServer((asked, answer) => {
    const replica = replicas[next++ % replicas.length] ?? expect.fail('there is no replica')
    replica.served++
    const { method, headers } = asked
    const passed = request(new URL(asked.url ?? '/', replica.url), { method, headers, agent: false }, (told) => {
      answer.writeHead(told.statusCode ?? 502, told.headers).flushHeaders()
      told.pipe(answer)
    })
    passed.on('error', () => answer.destroy())
    answer.on('close', () => passed.destroy())
    asked.pipe(passed)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, replicas, cut: () => server.closeAllConnections() }
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

it('the replicas of the example read every variable that they are given', async () => {
  const read = (file: string) => readFile(new URL(`../../examples/replicas/${file}`, import.meta.url), 'utf8')
  const [agent, compose, unit] = await Promise.all([read('agent.mjs'), read('compose.yaml'), read('counter@.service')])
  const known = /const \{ (.*) \} = process\.env/.exec(agent)?.[1]?.match(/[A-Z_]{3,}/g)
  const given = /environment:\n((?: {6}.*\n)+)/.exec(compose)?.[1]?.match(/^ *[A-Z_]+(?=:)/gm)
  expect(new Set(given?.map((name) => name.trim()))).toEqual(new Set(known))
  const ofUnit = unit.match(/^(?:# |Environment=).*[A-Z_]{3,}.*$/gm)?.flatMap((line) => line.match(/\b[A-Z_]{4,}\b/g))
  for (const name of known ?? []) expect(ofUnit).toContain(name)
  expect(unit).toMatch(/^ExecStart=\/usr\/bin\/node agent\.mjs$/m)
})

describe.skipIf(!isBuilt)('the example of replicas', () => {
  it('is one agent behind a balancer that takes turns: told once and in order, found, and canceled wherever', async () => {
    const database = await createDatabase()
    onTestFinished(() => database.drop())
    const { url, replicas, cut } = await startBalancer()
    const start = async () => startReplica(database.url, { PUBLIC_URL: url })
    for (const replica of await Promise.all([start(), start()])) replicas.push({ url: replica.url, served: 0 })
    const client = await connect(url)
    const words: string[] = []
    for await (const event of client.stream('15')) {
      if (event.type !== 'artifact') continue
      words.push(...event.artifact.parts.map((part) => ('text' in part ? `${part.text}`.trim() : '')))
      if (words.length % 5 === 0) cut() // It goes on with the next request, which is another replica's.
    }
    expect(words.filter(Boolean)).toEqual(upTo15)
    const long = await client.send('1000', { returnImmediately: true })
    if (long.type !== 'task') throw new Error('expected a task')
    const { id } = long.task
    for (const _ of replicas) expect((await client.task(id).get()).id).toBe(id)
    expect((await client.task(id).cancel()).status.state).toBe('canceled')
    for (const { served } of replicas) expect(served).toBeGreaterThan(2)
  })

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
