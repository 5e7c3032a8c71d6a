import { expect, it } from 'vitest'
import { connect } from '../../../src/core/client/connect.ts'
import { releasedDialects } from '../../../src/core/dialects/versions.ts'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import { GenerationMismatch } from '../../../src/entries/client.ts'
import { collect, until } from '../../support/async.ts'
import { shareTestServer, startTestServer } from '../../support/servers/test-server.ts'

const dialects = { speak: [...releasedDialects, 'v1.1'] } as const

const waiting = new Map<string, () => void>()

const shared = shareTestServer(
  async (turn) => {
    if (turn.text.startsWith('wait')) {
      await turn.status('working')
      await new Promise<void>((resolve) => waiting.set(turn.text, resolve))
      return 'done'
    }
    return void (await turn.requireInput('more?'))
  },
  { dialects, grpc: true },
)

it.each(['JSONRPC', 'HTTP+JSON', 'GRPC'] as const)(
  'a client speaks 1.1 where the card names it, and gets both numbers of a mismatch: %s',
  async (binding) => {
    const bindings = [binding === 'GRPC' ? grpc({ loopback: 'allow' }) : binding]
    const client = await connect(shared().server.url, { bindings })
    const { task } = await client.send('hello')
    expect(client.explain().endpoint).toMatchObject({ dialect: 'v1.1' })
    const taskId = task?.id ?? ''
    expect(task?.revision).toBe(2)
    const error = await client.send('again', { taskId, ifGeneration: 1 }).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(GenerationMismatch)
    expect(error).toMatchObject({ code: 'task-generation-mismatch', expected: 1, current: 2 })
    const { task: answered } = await client.send('again', { taskId, ifGeneration: 2 })
    expect(answered?.revision).toBe(4)
    expect((await client.task(taskId).get()).revision).toBe(4)
    const [listed] = await collect(client.listTasks({ contextId: task?.contextId ?? '' }))
    expect(listed?.revision).toBe(4)
  },
)

it('a client of an agent without 1.1 refuses to send what the agent would not check', async () => {
  const { server } = await startTestServer((turn) => turn.requireInput('?'))
  const client = await connect(server.url)
  const { task } = await client.send('hello')
  expect(task?.revision).toBeUndefined()
  const sent = client.send('again', { taskId: task?.id ?? '', ifGeneration: 1 })
  await expect(sent).rejects.toMatchObject({
    code: 'unsupported-operation',
    message: expect.stringContaining('A2A 1.1'),
  })
})

it('a client waits for an agent that does not stream by long polls', async () => {
  const { server } = await startTestServer(
    async (turn) => {
      await turn.status('working')
      await new Promise<void>((resolve) => waiting.set('poll', resolve))
      return 'done'
    },
    { dialects, capabilities: { streaming: false } },
  )
  const polls: string[] = []
  const counting: typeof fetch = (url, init) => {
    if (`${init?.body}`.includes('"GetTask"')) polls.push(`${init?.body}`)
    return fetch(url, init)
  }
  const client = await connect(server.url, {
    fetch: counting,
    bindings: ['JSONRPC'],
    polling: { minDelay: 1, maxDelay: 1 },
  })
  const streaming = collect(client.stream('hello'))
  await until(() => waiting.has('poll') && polls.some((body) => body.includes('currentGeneration')))
  const { length } = polls
  // Plain polls would follow each other by a millisecond.
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(polls.length).toBeLessThanOrEqual(length + 1)
  waiting.get('poll')?.()
  expect((await streaming).at(-1)).toMatchObject({ type: 'status', status: { state: 'completed' } })
})
