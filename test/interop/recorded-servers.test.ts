import { expect, it } from 'vitest'
import { systemClock } from '../../src/core/base/clock.ts'
import { connect } from '../../src/core/client/connect.ts'
import type { ConnectOptions } from '../../src/core/client/options.ts'
import { A2AError } from '../../src/core/protocol/errors.ts'
import { describeEvent, taskIdOf } from '../contracts/service/contract.ts'
import { collect } from '../support/async.ts'
import { startReplayPeer } from '../support/servers/replay-peer.ts'

const quick = { minDelay: 1, maxDelay: 5 }

async function open(recording: string, path = '', options: ConnectOptions = {}) {
  const origin = await startReplayPeer(recording)
  return await connect(`${origin}${path}`, { retry: quick, resume: quick, polling: quick, ...options })
}

async function errorOf(work: Promise<unknown>): Promise<Partial<A2AError>> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof A2AError) return error
  throw new Error('expected an A2AError', { cause: error })
}

it('LangGraph: updates that are marked by a kind, in 1.0, are read', async () => {
  const client = await open('langgraph-0.16.7', cardOfLangGraph)
  expect((await collect(client.stream('hi'))).map(describeEvent)).toEqual([
    'task submitted',
    'status working: You said: hi',
    'artifact You said: hi, last',
    'status completed',
  ])
  expect(client.explain().endpoint).toMatchObject({ dialect: 'v1.0' })
})

const cardOfLangGraph = '/.well-known/agent-card.json?assistant_id=046b5dc7-2108-582c-9c6c-31d556d138f0'

it('Python 0.3.0: a stream that stays open ends when the client cancels its task', async () => {
  const client = await open('a2a-python-0.3.0')
  const events: string[] = []
  for await (const event of client.stream('wait')) {
    events.push(describeEvent(event))
    if (event.type === 'status' && event.status.state === 'working') void client.task(taskIdOf(event)).cancel()
  }
  expect(events).toEqual(['task submitted', 'status working: Counting', 'status canceled'])
})

it('Python 0.3.0: a stream ends soon after the cancel also if events come in between', async () => {
  const client = await open('a2a-python-0.3.0')
  const start = Date.now()
  const events: string[] = []
  for await (const event of client.stream('wait')) {
    events.push(describeEvent(event))
    // The next event, the status working, is on its way.
    if (event.type === 'task') await client.task(event.task.id).cancel()
  }
  expect(events).toEqual(['task submitted', 'status working: Counting', 'status canceled'])
  expect(Date.now() - start).toBeLessThan(4_000)
})

it('Python 0.3.0: a stream that stays open ends after another client has canceled its task', async () => {
  // Checks of a quiet stream happen a thousand times sooner; no other time limit does.
  const clock = { ...systemClock, setTimeout: (act: () => void, after: number) => setTimeout(act, after / 1000) }
  const options = { clock, timeout: 60_000_000, idle: 60_000_000, openWithin: 60_000_000 }
  const events = await collect((await open('a2a-python-0.3.0', '', options)).stream('wait'))
  expect(events.map(describeEvent)).toEqual(['task submitted', 'status working: Counting', 'status canceled'])
})

it('Python 0.3.0: an unknown method, which the server rejects as an invalid request, is an operation it lacks', async () => {
  const client = await open('a2a-python-0.3.0')
  for await (const event of client.stream('wait')) if (event.type === 'task') break
  expect(await errorOf(collect(client.listTasks()))).toMatchObject({
    code: 'unsupported-operation',
    reason: 'no-list',
    message: 'The agent does not offer a list of tasks. It answered: Request payload validation error',
    hint: expect.stringContaining('A2A 0.3 has no list of tasks'),
  })
})

it('Python 0.2.5: the extended card is fetched beside the agent, and missing operations are named', async () => {
  const client = await open('a2a-python-0.2.5')
  expect((await client.send('hello')).text).toBe('hi')
  expect((await client.extendedCard()).name).toBe('Ada, extended')
  const task = client.task('t')
  const missing = { code: 'unsupported-operation', reason: 'not-offered' }
  expect(await errorOf(collect(task.push.list()))).toMatchObject(missing)
  expect(await errorOf(task.push.delete('c'))).toMatchObject(missing)
})

it('Python 0.3.26 over REST: a task whose subscriptions are cut is polled', async () => {
  const client = await open('a2a-python-0.3.26-rest')
  const first = client.stream('wait')
  const { value } = await first.next()
  await first.return(undefined)
  const events = (await collect(client.task(taskIdOf(value)).subscribe())).map(describeEvent)
  expect(events).toEqual(['task working', 'status canceled'])
})

it('Python 0.3.26 over REST: an unknown task and a missing operation have the right codes', async () => {
  const client = await open('a2a-python-0.3.26-rest')
  for await (const event of client.stream('wait')) if (event.type === 'task') break
  expect(await errorOf(client.send('x', { taskId: 'nope' }))).toMatchObject({
    code: 'task-not-found',
    message: 'Task nope was specified but does not exist',
  })
})
