import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../src/core/node/local-agent.node.ts'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { connect } from '../../src/entries/client.node.ts'
import { serve } from '../../src/serve/serve.ts'
import { createConsumer } from '../support/package/consumer.ts'
import { createDatabase } from '../support/postgres/database.ts'
import { hasPrograms, programPath } from '../support/programs/programs.ts'

const isBuilt = existsSync(new URL('../../dist/index.js', import.meta.url))

/** Serves agents on SQLite and calls them over the given bindings. A second start reads what the first one stored. */
const serverAndClient = `
  import { agent, serve } from 'parley-a2a'
  import { connect } from 'parley-a2a/client'
  import { grpc } from 'parley-a2a/node'

  const withGrpc = process.argv.includes('--grpc')
  const counter = agent({ name: 'Counter' }, async function* (turn) {
    for (let number = 1; number <= 3; number++) yield number + ' '
  })
  const start = () => serve(counter, { port: 0, directory: import.meta.dirname, grpc: withGrpc, signals: false })
  let server = await start()
  const results = {}
  let taskId
  for (const binding of ['JSONRPC', 'HTTP+JSON', ...(withGrpc ? [grpc()] : [])]) {
    const client = await connect(server.url, { bindings: [binding] })
    const texts = []
    for await (const event of client.stream('go')) {
      taskId ??= event.task?.id
      if (event.type === 'artifact') texts.push(...event.artifact.parts.map(({ text }) => text))
    }
    results[binding.binding ?? binding] = [texts.join(''), (await client.send('go')).text]
  }
  await server.close()
  server = await start()
  const stored = await (await connect(server.url)).task(taskId).get()
  await server.close()
  console.log(JSON.stringify({ results, stored: stored.status.state }))
  process.exit()
`

/** What `deno serve` runs: a default export with `fetch`, whose tasks are in PostgreSQL. */
const fetchOnPostgres = `
  import { Pool } from 'pg'
  import { createPostgresLog } from 'parley-a2a/postgres'
  import { agent, createHandler } from 'parley-a2a/server'

  const shop = agent({ name: 'Shop', recovery: 'resume' }, async (turn) => {
    const answer = await turn.ask('Which colour?')
    const report = turn.artifact('report.txt')
    for (const word of ['One ', turn.text + ' ', 'in ' + answer.text]) await report.write(word)
    return 'Ordered'
  })
  const log = await createPostgresLog({ pool: new Pool({ connectionString: process.env.DATABASE_URL }) })
  const handler = createHandler(shop, { auth: 'none', log })
  export default { fetch: handler.fetch }
`

const grpcClient = `
  import { connect } from 'parley-a2a/client'
  import { grpc } from 'parley-a2a/node'
  const client = await connect(process.argv[2], { bindings: [grpc()] })
  const types = []
  for await (const event of client.stream('Hello')) types.push(event.type)
  console.log(JSON.stringify({ types, text: (await client.send('Hello')).text }))
  process.exit()
`

const counted = ['1 2 3 ', '1 2 3 ']

describe.skipIf(!isBuilt || !hasPrograms)('Bun and Deno', { timeout: 240_000 }, () => {
  it('Deno serves and calls agents over JSON-RPC, REST and gRPC, on SQLite', async () => {
    const { stdout } = await run('deno', serverAndClient, '--grpc')
    expect(JSON.parse(stdout)).toEqual({
      results: { JSONRPC: counted, 'HTTP+JSON': counted, GRPC: counted },
      stored: 'completed',
    })
  })

  it('deno serve runs a handler on PostgreSQL, and another process continues its tasks', async () => {
    const { url: database } = await createDatabase()
    const project = await createConsumer(['pg'], { 'main.js': fetchOnPostgres })
    const first = await startDeno(project, database)
    const question = await (await connect(first.url)).send('chair')
    expect(question.text).toBe('Which colour?')
    await first.kill()
    const second = await startDeno(project, database)
    const texts: string[] = []
    const taskId = question.task?.id ?? ''
    for await (const event of (await connect(second.url)).stream('blue', { taskId })) {
      if (event.type === 'artifact')
        texts.push(...event.artifact.parts.map((part) => ('text' in part ? part.text : '')))
    }
    expect(texts.join('')).toBe('One chair in blue')
  })

  it('Bun serves and calls agents over JSON-RPC and REST, on SQLite', async () => {
    const { stdout } = await run('bun', serverAndClient)
    expect(JSON.parse(stdout)).toEqual({ results: { JSONRPC: counted, 'HTTP+JSON': counted }, stored: 'completed' })
  })

  it('Bun refuses to serve gRPC with a sentence', async () => {
    await expect(run('bun', serverAndClient, '--grpc')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('serve(): grpc: Bun cannot serve gRPC on the port of its HTTP server.'),
    })
  })

  it.each(['bun', 'deno'] as const)('a client calls an agent on Node over gRPC: %s', async (runtime) => {
    const echo = agent({ name: 'Echo' }, async (turn) => turn.text)
    const server = await serve(echo, { port: 0, log: createMemoryLog(), grpc: true, signals: false })
    onTestFinished(() => server.close())
    const { stdout } = await run(runtime, grpcClient, server.url)
    expect(JSON.parse(stdout)).toEqual({ types: ['message'], text: 'Hello' })
  })
})

async function run(runtime: 'bun' | 'deno', program: string, ...args: readonly string[]) {
  const project = await createConsumer([], { 'main.js': program })
  const flags = runtime === 'deno' ? ['run', '--allow-all', '--no-prompt', '--node-modules-dir=manual'] : []
  const env = { ...process.env, DENO_NO_UPDATE_CHECK: '1', DENO_DIR: join(project, '.deno') }
  return promisify(execFile)(await programPath(runtime), [...flags, join(project, 'main.js'), ...args], {
    cwd: project,
    env,
    timeout: 100_000,
  })
}

/** Starts `deno serve` on a free port, which it prints. */
async function startDeno(project: string, database: string) {
  const flags = ['serve', '--allow-all', '--no-prompt', '--node-modules-dir=manual', '--host=127.0.0.1', '--port=0']
  const env = { ...process.env, DENO_NO_UPDATE_CHECK: '1', DENO_DIR: join(project, '.deno'), DATABASE_URL: database }
  const child = spawn(await programPath('deno'), [...flags, join(project, 'main.js')], { cwd: project, env })
  const exited = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await exited
  }
  onTestFinished(kill)
  let output = ''
  for await (const chunk of child.stderr) {
    output += chunk
    const [, port] = /127\.0\.0\.1:(\d+)/.exec(output) ?? []
    if (port !== undefined) return { url: `http://127.0.0.1:${port}`, kill }
  }
  throw new Error(output)
}
