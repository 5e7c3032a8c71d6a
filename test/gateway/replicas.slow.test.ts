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
