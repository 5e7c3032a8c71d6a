import { describe, expect, it, onTestFinished } from 'vitest'
import { countingAgent, describeEvent } from '../../../../test/contracts/service/contract.ts'
import { collect } from '../../../../test/support/async.ts'
import { silentLogger } from '../../../../test/support/logger.ts'
import { anonymousListsAll } from '../../../../test/support/servers/local-handler.ts'
import { agent } from '../../agent/agent.ts'
import { createHandler } from '../../server/handler.ts'
import { connect } from '../connect.ts'
import type { ConnectOptions } from '../options.ts'

type Fault = (request: Request, answer: () => Promise<Response>) => Promise<Response>

const refused: Fault = async () => {
  throw new TypeError('fetch failed', { cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }) })
}
/** The agent handles the call, but its response is lost. */
const lost: Fault = async (_, answer) => {
  const response = await answer()
  await response.body?.cancel()
  throw new TypeError('fetch failed', { cause: Object.assign(new Error('closed'), { code: 'UND_ERR_SOCKET' }) })
}
const answered =
  (status: number, headers: Record<string, string> = {}): Fault =>
  async () =>
    new Response('', { status, headers })

const quick = { minDelay: 1, maxDelay: 2 }

/** A client of an agent whose first responses to POST have these faults. */
async function open(faults: readonly Fault[], options: ConnectOptions = {}, capabilities = {}) {
  const handler = createHandler(agent({ name: 'Test' }, countingAgent), {
    logger: silentLogger,
    auth: anonymousListsAll,
    capabilities,
    turns: { cancelGrace: 50 },
  })
  onTestFinished(() => handler.drain(0))
  const remaining = [...faults]
  const calls: { readonly key: string | null; readonly body: string }[] = []
  const fetch = async (request: Request) => {
    if (request.method !== 'POST') return await handler.fetch(request)
    const body = await request.clone().text()
    calls.push({ key: request.headers.get('idempotency-key'), body: body.replace(/"id":\d+/, '') })
    const fault = remaining.shift()
    return fault ? await fault(request, () => handler.fetch(request)) : await handler.fetch(request)
  }
  return { client: await connect({ fetch }, { retry: quick, resume: quick, ...options }), calls }
}

describe('a call that was not sent', () => {
  it('a refused connection is retried with the same key and body', async () => {
    const { client, calls } = await open([refused, refused])
    expect((await client.send('hello')).text).toBe('hi')
    expect(calls).toHaveLength(3)
    expect(new Set(calls.map(({ key }) => key)).size).toBe(1)
    expect(calls[0]?.key).toMatch(/^[\da-f-]{36}$/)
    expect(new Set(calls.map(({ body }) => body)).size).toBe(1)
  })

  it('a refused stream is retried with the same key', async () => {
    const { client, calls } = await open([refused, answered(503, { 'retry-after': '0' })])
    expect((await collect(client.stream('hello'))).map(describeEvent)).toEqual(['message: hi'])
    expect(new Set(calls.map(({ key }) => key)).size).toBe(1)
  })

  it('a call fails after the configured number of tries', async () => {
    const { client, calls } = await open(Array(9).fill(refused))
    await expect(client.send('hello')).rejects.toMatchObject({ code: 'unavailable', reason: 'connection-refused' })
    expect(calls).toHaveLength(3)
  })

  it('a stream fails after as many tries', async () => {
    const { client, calls } = await open(Array(20).fill(refused))
    await expect(collect(client.stream('hello'))).rejects.toMatchObject({ reason: 'connection-refused' })
    expect(calls).toHaveLength(3)
  })

  it('a stream that is polled fails after as many tries', async () => {
    const { client, calls } = await open(Array(20).fill(refused), {}, { streaming: false })
    await expect(collect(client.stream('hello'))).rejects.toMatchObject({ reason: 'connection-refused' })
    expect(calls).toHaveLength(3)
  })
})

describe('a call that the agent rejects for now', () => {
  it('a rejected call is retried after the requested delay', async () => {
    const { client, calls } = await open([answered(429, { 'retry-after': '1' }), answered(503, { 'retry-after': '0' })])
    const start = Date.now()
    expect((await client.send('hello')).text).toBe('hi')
    expect(Date.now() - start).toBeGreaterThan(950)
    expect(calls).toHaveLength(3)
  })

  it('a call does not wait for a long delay', async () => {
    const { client } = await open([answered(429, { 'retry-after': '3600' })])
    await expect(client.send('hello')).rejects.toMatchObject({ code: 'rate-limited', retryAfter: 3600 })
  })
})

describe('a send without a response', () => {
  it('a send is not repeated, and the error says that it may have run', async () => {
    const { client, calls } = await open([lost], { peerDeduplicates: false })
    await expect(client.send('hello')).rejects.toMatchObject({ code: 'unavailable', reason: 'may-have-run' })
    await expect(client.send('hello')).resolves.toMatchObject({ text: 'hi' })
    expect(calls).toHaveLength(2)
  })

  it('a send is repeated if the agent deduplicates, and runs once', async () => {
    const { client, calls } = await open([lost, lost], { peerDeduplicates: true })
    const { task } = await client.send('count')
    expect(calls).toHaveLength(3)
    expect(
      (await client.service.listTasks({}, { principal: { id: '' }, signal: AbortSignal.timeout(1000) })).tasks,
    ).toEqual([expect.objectContaining({ id: task?.id })])
  })

  it('a send is repeated if the card declares that the agent deduplicates', async () => {
    const { client, calls } = await open([lost])
    await client.send('count')
    expect(calls).toHaveLength(2)
    expect(await collect(client.listTasks())).toHaveLength(1)
  })

  it('a send is repeated until the agent is back', async () => {
    const { client, calls } = await open([lost, ...Array(12).fill(refused)])
    expect((await client.send('hello')).text).toBe('hi')
    expect(calls).toHaveLength(14)
  })

  it('a send is repeated only as often as the caller says', async () => {
    const { client, calls } = await open([lost, ...Array(12).fill(refused)], { retry: { ...quick, tries: 4 } })
    await expect(client.send('hello')).rejects.toMatchObject({ reason: 'connection-refused' })
    expect(calls).toHaveLength(4)
  })

  it('the error of an agent that does not come back in time says why', async () => {
    const { client } = await open([lost, ...Array(1000).fill(refused)])
    const message = expect.stringContaining('nothing listens there')
    await expect(client.send('hello', { timeout: 100 })).rejects.toMatchObject({ code: 'timeout', message })
  })

  it('a stream with a timeout is resumed until the agent is back', async () => {
    const { client, calls } = await open([lost, ...Array(12).fill(refused)])
    const events = await collect(client.stream('count', { timeout: 20_000 }))
    expect(events.at(-1)).toMatchObject({ type: 'status', status: { state: 'completed' } })
    expect(calls).toHaveLength(14)
  })

  it('a send is repeated if the agent has numbered its events', async () => {
    const { client } = await open([async (_, answer) => await answer(), lost])
    await collect(client.stream('count'))
    expect((await client.send('hello')).text).toBe('hi')
  })

  it('a streaming send is not repeated', async () => {
    const { client } = await open([lost], { peerDeduplicates: false })
    await expect(collect(client.stream('count'))).rejects.toMatchObject({ reason: 'may-have-run' })
  })
})

describe('a read without a response', () => {
  it('a read is repeated after any transient failure', async () => {
    const pass: Fault = async (_, answer) => await answer()
    const { client } = await open([pass, lost, answered(502), answered(504)], { retry: { ...quick, tries: 4 } })
    const { task } = await client.send('count')
    expect((await client.task(task?.id ?? '').get()).id).toBe(task?.id)
  })
})

describe('the timeout of a call', () => {
  it('a call ends at its timeout', async () => {
    const { client } = await open([])
    const waiting = client.send('wait', { timeout: 50 })
    await expect(waiting).rejects.toMatchObject({ code: 'timeout', reason: 'deadline', hint: expect.any(String) })
  })

  it('a call ends at its timeout even if fetch ignores the signal', async () => {
    const { client } = await open([() => new Promise(() => {})])
    await expect(client.send('hello', { timeout: 50 })).rejects.toMatchObject({ code: 'timeout' })
  })

  it('a call ends when its caller aborts', async () => {
    const { client } = await open([])
    await expect(client.send('wait', { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      name: 'A2AError',
      reason: 'aborted',
    })
  })

  it('a stream ends at its timeout if it has one', async () => {
    const { client } = await open([])
    await expect(collect(client.stream('wait', { timeout: 50 }))).rejects.toMatchObject({ code: 'timeout' })
  })
})
