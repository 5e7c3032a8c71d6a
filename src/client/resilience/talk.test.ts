import { describe, expect, it, onTestFinished } from 'vitest'
import { countingAgent, describeEvent } from '../../../test/contracts/service/contract.ts'
import { collect } from '../../../test/support/async.ts'
import { silentLogger } from '../../../test/support/logger.ts'
import { anonymousListsAll } from '../../../test/support/servers/local-handler.ts'
import { agent } from '../../agent/agent.ts'
import { createHandler } from '../../server/handler.ts'
import { connect } from '../connect.ts'
import type { ConnectOptions } from '../options.ts'

type Fault = (request: Request, answer: () => Promise<Response>) => Promise<Response>

const refused: Fault = async () => {
  throw new TypeError('fetch failed', { cause: Object.assign(new Error('connect'), { code: 'ECONNREFUSED' }) })
}
/** The agent works, but nobody hears of it. */
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

/** An agent of whose answers to POST the first go wrong in these ways. */
async function open(faults: readonly Fault[], options: ConnectOptions = {}) {
  const handler = createHandler(agent({ name: 'Test' }, countingAgent), {
    logger: silentLogger,
    auth: anonymousListsAll,
    turns: { cancelGrace: 50 },
  })
  onTestFinished(() => handler.drain(0))
  const left = [...faults]
  const calls: { readonly key: string | null; readonly body: string }[] = []
  const fetch = async (request: Request) => {
    if (request.method !== 'POST') return await handler.fetch(request)
    const body = await request.clone().text()
    calls.push({ key: request.headers.get('idempotency-key'), body: body.replace(/"id":\d+/, '') })
    const fault = left.shift()
    return fault ? await fault(request, () => handler.fetch(request)) : await handler.fetch(request)
  }
  return { client: await connect({ fetch }, { retry: quick, resume: quick, ...options }), calls }
}

describe('a call that could not be made', () => {
  it('is made again, as one and the same', async () => {
    const { client, calls } = await open([refused, refused])
    expect((await client.send('hello')).text).toBe('hi')
    expect(calls).toHaveLength(3)
    expect(new Set(calls.map(({ key }) => key)).size).toBe(1)
    expect(calls[0]?.key).toMatch(/^[\da-f-]{36}$/)
    expect(new Set(calls.map(({ body }) => body)).size).toBe(1)
  })

  it('is made again for a stream', async () => {
    const { client, calls } = await open([refused, answered(503, { 'retry-after': '0' })])
    expect((await collect(client.stream('hello'))).map(describeEvent)).toEqual(['message: hi'])
    expect(new Set(calls.map(({ key }) => key)).size).toBe(1)
  })

  it('is given up after so many tries', async () => {
    const { client, calls } = await open(Array(9).fill(refused))
    await expect(client.send('hello')).rejects.toMatchObject({ code: 'unavailable', reason: 'connection-refused' })
    expect(calls).toHaveLength(3)
  })
})

describe('a call that was turned away', () => {
  it('is made again after the pause that was asked for', async () => {
    const { client, calls } = await open([answered(429, { 'retry-after': '1' }), answered(503, { 'retry-after': '0' })])
    const begun = Date.now()
    expect((await client.send('hello')).text).toBe('hi')
    expect(Date.now() - begun).toBeGreaterThan(950)
    expect(calls).toHaveLength(3)
  })

  it('is not waited for forever', async () => {
    const { client } = await open([answered(429, { 'retry-after': '3600' })])
    await expect(client.send('hello')).rejects.toMatchObject({ code: 'rate-limited', retryAfter: 3600 })
  })
})

describe('a send that got no answer', () => {
  it('is not sent again, and says that it may have been done', async () => {
    const { client, calls } = await open([lost])
    await expect(client.send('hello')).rejects.toMatchObject({ code: 'unavailable', reason: 'may-have-run' })
    await expect(client.send('hello')).resolves.toMatchObject({ text: 'hi' })
    expect(calls).toHaveLength(2)
  })

  it('is sent again to an agent that deduplicates, and done once', async () => {
    const { client, calls } = await open([lost, lost], { peerDeduplicates: true })
    const { task } = await client.send('count')
    expect(calls).toHaveLength(3)
    expect(
      (await client.service.listTasks({}, { principal: { id: '' }, signal: AbortSignal.timeout(1000) })).tasks,
    ).toEqual([expect.objectContaining({ id: task?.id })])
  })

  it('is sent again once the agent has numbered its events', async () => {
    const { client } = await open([async (_, answer) => await answer(), lost])
    await collect(client.stream('count'))
    expect((await client.send('hello')).text).toBe('hi')
  })

  it('as a stream is not sent again either', async () => {
    const { client } = await open([lost])
    await expect(collect(client.stream('count'))).rejects.toMatchObject({ reason: 'may-have-run' })
  })
})

describe('a read that got no answer', () => {
  it('is tried again, whatever happened', async () => {
    const pass: Fault = async (_, answer) => await answer()
    const { client } = await open([pass, lost, answered(502), answered(504)], { retry: { ...quick, tries: 4 } })
    const { task } = await client.send('count')
    expect((await client.task(task?.id ?? '').get()).id).toBe(task?.id)
  })
})

describe('a call', () => {
  it('ends at its deadline', async () => {
    const { client } = await open([])
    const waiting = client.send('wait', { timeout: 50 })
    await expect(waiting).rejects.toMatchObject({ code: 'timeout', reason: 'deadline', hint: expect.any(String) })
  })

  it('ends at its deadline also with a fetch that heeds no signal', async () => {
    const { client } = await open([() => new Promise(() => {})])
    await expect(client.send('hello', { timeout: 50 })).rejects.toMatchObject({ code: 'timeout' })
  })

  it('ends when its caller leaves', async () => {
    const { client } = await open([])
    await expect(client.send('wait', { signal: AbortSignal.timeout(50) })).rejects.toMatchObject({
      name: 'A2AError',
      reason: 'aborted',
    })
  })

  it('that streams has a deadline if it is given one', async () => {
    const { client } = await open([])
    await expect(collect(client.stream('wait', { timeout: 50 }))).rejects.toMatchObject({ code: 'timeout' })
  })
})
