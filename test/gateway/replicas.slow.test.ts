import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { agent } from '../../src/core/agent/agent.ts'
import type { Turn } from '../../src/core/agent/turn.ts'
import { type Task, textOf } from '../../src/core/protocol/model.ts'
import { connect } from '../../src/entries/client.node.ts'
import type { GatewayOptions } from '../../src/gateway/options.ts'
import { serve } from '../../src/serve/serve.ts'
import { until } from '../support/async.ts'
import { silentLogger } from '../support/logger.ts'
import { createDatabase } from '../support/postgres/database.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

const script = fileURLToPath(new URL('./gateway-process.ts', import.meta.url))

/** A replica of the gateway in a process of its own. */
async function startReplica(options: GatewayOptions) {
  const child = spawn(process.execPath, [script, JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const [url] = (await once(createInterface(child.stdout), 'line')) as [string]
  return {
    url,
    async kill() {
      child.kill('SIGKILL')
      await ended
    },
  }
}

const chunks = 10

async function startUpstream(pause: number) {
  const count = agent({ name: 'Chunks', recovery: 'resume' }, async (turn: Turn) => {
    const out = turn.artifact('chunks')
    for (let n = 0; n < chunks; n++) {
      await new Promise((resolve) => setTimeout(resolve, pause))
      await out.write(`${turn.text}-${n},`)
    }
    await out.close()
    await turn.status('completed')
  })
  const directory = await temporaryDirectory()
  const server = await serve(count, { logger: silentLogger, signals: false, directory, drainDeadline: 0 })
  onTestFinished(() => server.close())
  return server.url
}

const expected = (name: string) => Array.from({ length: chunks }, (_, n) => `${name}-${n},`).join('')

const contentOf = ({ artifacts }: Task) => artifacts.map((each) => textOf(each)).join('')

async function startPair(pause: number) {
  const { url: databaseUrl } = await createDatabase()
  const url = await startUpstream(pause)
  const agents = { chunks: { url, deduplicates: true } }
  const options = { agents, databaseUrl, turns: { leaseTtl: 1_000 }, signals: false }
  return await Promise.all([startReplica(options), startReplica(options)])
}

it('a stream goes on at another replica when its gateway is killed', { timeout: 120_000 }, async () => {
  const [one, two] = await startPair(100)
  const client = await connect(one.url, { retry: { tries: 1 }, resume: { tries: 1 } })
  let text = ''
  let id = ''
  let last = 0
  const read = async (events: ReturnType<typeof client.stream>) => {
    for await (const event of events) {
      if (event.type === 'task') id = event.task.id
      if (event.type === 'message') continue
      last = event.type === 'task' ? event.task.generation : event.generation
      if (event.type !== 'artifact') continue
      text += event.artifact.parts.map((part) => ('text' in part ? part.text : '')).join('')
      if (text.includes('go-2,') && !text.includes('go-4,')) void one.kill()
    }
  }
  await read(client.stream('go')).catch(() => {})
  expect(text).not.toContain(`go-${chunks - 1},`)
  const other = await connect(two.url)
  // Exactly where it was: the other replica has the same log.
  const call = { principal: { id: '' }, signal: AbortSignal.timeout(60_000) }
  await read(other.service.subscribeToTask({ taskId: id, after: last, includeEnded: true }, call))
  expect(text).toBe(expected('go'))
  expect(contentOf(await other.task(id).get())).toBe(expected('go'))
})

it('1,000 tasks lose and double nothing when a replica is killed among them', { timeout: 300_000 }, async () => {
  const [one, two] = await startPair(20)
  const clients = await Promise.all([one, two].map(({ url }) => connect(url, { timeout: 120_000 })))
  const ids = new Map<string, string>()
  const names = Array.from({ length: 1_000 }, (_, n) => `t${n}`)
  for (let at = 0; at < names.length; at += 50) {
    await Promise.all(
      names.slice(at, at + 50).map(async (name, n) => {
        // After the kill, only the second replica takes new tasks.
        const client = clients[at < 500 ? n % 2 : 1]
        const { task } = (await client?.send(name, { returnImmediately: true })) ?? {}
        ids.set(name, task?.id ?? '')
      }),
    )
    if (at === 450) await one.kill()
  }
  const [, client] = clients
  const open = new Set(names)
  await until(async () => {
    for (const name of [...open].slice(0, 50)) {
      const task = await client?.task(ids.get(name) ?? '').get()
      if (task?.status.state !== 'completed') return false
      expect(contentOf(task)).toBe(expected(name))
      open.delete(name)
    }
    return open.size === 0
  }, 240_000)
})
