import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { agent } from '../../src/core/node/local-agent.node.ts'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { serve } from '../../src/serve/serve.ts'
import { createConsumer } from '../support/package/consumer.ts'
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
