import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { connect } from '../../src/core/client/connect.ts'
import { buildImage, type Image } from '../support/package/dockerfile.ts'
import { createDatabase } from '../support/postgres/database.ts'

const isBuilt = existsSync(new URL('../../dist/postgres.js', import.meta.url))

/** What the Dockerfile of the example builds from this repository. */
let image: Image | undefined

const upTo15 = Array.from({ length: 15 }, (_, index) => `${index + 1}`)

async function startReplica(url: string, variables: Readonly<Record<string, string>> = {}) {
  const env = { ...process.env, DATABASE_URL: url, PORT: '0', ...variables }
  const { folder, command } = image ?? expect.fail('the image is not built')
  const [program = '', ...args] = command
  const child = spawn(program, args, { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const line = once(createInterface(child.stdout), 'line')
  const [address] = await Promise.race([
    line,
    exited.then(() => Promise.reject(new Error('the replica did not start'))),
  ])
  return { url: `${address}`, client: await connect(`${address}`), stop: () => child.kill('SIGTERM'), exited }
}

/** A round-robin balancer, as in the example. */
async function startBalancer() {
  const replicas: { readonly url: string; served: number }[] = []
  let next = 0
  const server = createServer((incoming, outgoing) => {
    const replica = replicas[next++ % replicas.length] ?? expect.fail('no replica')
    replica.served++
    const { method, headers } = incoming
    const forwarded = request(new URL(incoming.url ?? '/', replica.url), { method, headers, agent: false }, (reply) => {
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers).flushHeaders()
      reply.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, replicas, cut: () => server.closeAllConnections() }
}

function readExample(file: string): Promise<string> {
  return readFile(new URL(`../../examples/replicas/${file}`, import.meta.url), 'utf8')
}

/** The number that a pattern captures in a file of the example. */
async function numberIn(file: string, pattern: RegExp): Promise<number> {
  return Number(pattern.exec(await readExample(file))?.[1]?.replaceAll('_', ''))
}

it('the ports, timeouts and versions of the replicas example match', async () => {
  const port = await numberIn('compose.yaml', /PORT: "(\d+)"/)
  expect(await numberIn('nginx.conf', /server agent:(\d+) resolve;/)).toBe(port)
  const published = await numberIn('compose.yaml', /ports: \["(\d+):\1"\]/)
  expect(await numberIn('nginx.conf', /listen (\d+);/)).toBe(published)
  expect(await numberIn('compose.yaml', /PUBLIC_URL: http:\/\/localhost:(\d+)/)).toBe(published)
  // Turns have ten seconds to finish, and their callers two more to read the result.
  for (const grace of [
    await numberIn('compose.yaml', /stop_grace_period: (\d+)s/),
    await numberIn('counter@.service', /TimeoutStopSec=(\d+)/),
  ]) {
    expect(grace).toBeGreaterThan(12)
  }
  // A stream is silent for at most 15 seconds, and a blocking send returns before the balancer times out.
  const readTimeout = await numberIn('nginx.conf', /proxy_read_timeout (\d+)s/)
  expect(readTimeout).toBeGreaterThan(15)
  expect(readTimeout * 1000).toBeGreaterThan(await numberIn('agent.mjs', /blockFor: ([\d_]+)/))
  expect(await numberIn('compose.yaml', /127\.0\.0\.1:(\d+)\/readyz/)).toBe(port)
})

it('the replicas example reads every variable that its deployment files set', async () => {
  const files = ['agent.mjs', 'compose.yaml', 'counter@.service']
  const [agent = '', compose = '', unit = ''] = await Promise.all(files.map(readExample))
  const variables = /const \{ (.*) \} = process\.env/.exec(agent)?.[1]?.match(/[A-Z_]{3,}/g)
  const composeVariables = /environment:\n((?: {6}.*\n)+)/.exec(compose)?.[1]?.match(/^ *[A-Z_]+(?=:)/gm)
  expect(new Set(composeVariables?.map((name) => name.trim()))).toEqual(new Set(variables))
  const unitVariables = unit
    .match(/^(?:# |Environment=).*[A-Z_]{3,}.*$/gm)
    ?.flatMap((line) => line.match(/\b[A-Z_]{4,}\b/g))
  for (const name of variables ?? []) expect(unitVariables).toContain(name)
  expect(unit).toMatch(/^ExecStart=\/usr\/bin\/node agent\.mjs$/m)
})

it('the Dockerfile of the replicas example installs the packages of all workspaces', async () => {
  const dockerfile = await readExample('Dockerfile')
  for (const workspace of manifest.workspaces) {
    expect(dockerfile).toContain(`COPY ${workspace}/package.json ${workspace}/\n`)
  }
})

it('the replicas of the example wait for the database, and the balancer for the replicas', async () => {
  const services = (await readExample('compose.yaml')).split(/\n {2}(?=[a-z]+:\n)/)
  const service = (name: string) => services.find((text) => text.startsWith(`${name}:`)) ?? expect.fail(name)
  const waitsFor = (name: string) => `depends_on:\n      ${name}:\n        condition: service_healthy\n`
  expect(service('agent')).toContain(waitsFor('postgres'))
  expect(service('balancer')).toContain(waitsFor('agent'))
  for (const name of ['agent', 'postgres']) expect(service(name)).toMatch(/healthcheck:\s+test:\s+\[\s*"CMD",/)
})

describe.skipIf(!isBuilt)('the replicas example', () => {
  beforeAll(async () => {
    image = await buildImage('examples/replicas/Dockerfile')
  }, 900_000)
  afterAll(() => image?.remove())

  it('a client behind a round-robin balancer streams, reads and cancels tasks on any replica', async () => {
    const database = await createDatabase()
    onTestFinished(() => database.drop())
    const { url, replicas, cut } = await startBalancer()
    const start = async () => startReplica(database.url, { PUBLIC_URL: url })
    for (const replica of await Promise.all([start(), start()])) replicas.push({ url: replica.url, served: 0 })
    const client = await connect(url)
    const texts: string[] = []
    for await (const event of client.stream('15')) {
      if (event.type !== 'artifact') continue
      texts.push(...event.artifact.parts.map((part) => ('text' in part ? `${part.text}`.trim() : '')))
      if (texts.length % 5 === 0) cut() // the client resumes on the other replica
    }
    expect(texts.filter(Boolean)).toEqual(upTo15)
    const long = await client.send('1000', { returnImmediately: true })
    if (long.type !== 'task') throw new Error('expected a task')
    const { id } = long.task
    for (const _ of replicas) expect((await client.task(id).get()).id).toBe(id)
    expect((await client.task(id).cancel()).status.state).toBe('canceled')
    for (const { served } of replicas) expect(served).toBeGreaterThan(2)
    await expect(healthCheck(replicas[0]?.url ?? '')).resolves.toBe(0)
    await expect(healthCheck('http://127.0.0.1:1')).resolves.toBe(1)
  })

  it('a task is followed on another replica and completes although its replica is stopped', async () => {
    const database = await createDatabase()
    onTestFinished(() => database.drop())
    const [one, two] = await Promise.all([startReplica(database.url), startReplica(database.url)])
    const reply = await one.client.send('15', { returnImmediately: true })
    if (reply.type !== 'task') throw new Error('expected a task')
    const followed = two.client.task(reply.task.id)
    one.stop()
    const ended = await followed.wait({ timeout: 50_000 })
    expect(ended.task?.status.state).toBe('completed')
    expect(ended.artifacts.map(({ text }) => text.trim().split(' '))).toEqual([upTo15])
    expect((await one.exited)[0]).toBe(0)
  })
})

/** Runs the health check of the compose file against a replica, and returns its exit code. */
async function healthCheck(url: string): Promise<unknown> {
  const code = /"node",\s+"-e",\s+"(.*)"/.exec(await readExample('compose.yaml'))?.[1] ?? ''
  const child = spawn(process.execPath, ['-e', code.replace(/http:\/\/127\.0\.0\.1:\d+/, url)], { stdio: 'ignore' })
  const [exitCode] = await once(child, 'exit')
  return exitCode
}
