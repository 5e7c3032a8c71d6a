import { describe, expect, it } from 'vitest'
import { countingAgent } from '../../../test/contracts/service/contract.ts'
import { cardRoute, createLocalHandler, fakePeer } from '../../../test/support/servers/local-handler.ts'
import { connect } from './connect.ts'

describe('a 0.1 agent', () => {
  it('a 0.1 agent returns immediately if the caller wishes', async () => {
    const ended = Promise.withResolvers<void>()
    const handler = createLocalHandler(
      async (turn) => {
        await turn.status('working')
        await ended.promise
      },
      { dialects: { speak: ['v0.1'] } },
    )
    const client = await connect(handler)
    const { task } = await client.send('go', { returnImmediately: true })
    expect(task?.status.state).toBe('working')
    ended.resolve()
    expect((await client.task(task?.id ?? '').wait()).task?.status.state).toBe('completed')
  })

  it('a 0.1 agent without streams is waited for, even if the caller wishes to return immediately', async () => {
    const handler = createLocalHandler(countingAgent, {
      dialects: { speak: ['v0.1'] },
      capabilities: { streaming: false },
    })
    const { task } = await (await connect(handler)).send('count', { returnImmediately: true })
    expect(task?.status.state).toBe('completed')
  })
})

describe('a 0.2 agent on Python, which answers a send only when the task has ended', () => {
  it('a send that returns immediately opens a stream, and reads it on', async () => {
    const { peer, stream } = python('uvicorn')
    const client = await connect(peer)
    const { task } = await client.send('go', { returnImmediately: true })
    expect(task).toMatchObject({ id: 'T', status: { state: 'submitted' } })
    // The SDK would cancel a task whose stream was left.
    await new Promise((resolve) => setTimeout(resolve, 20))
    expect(stream.isLeft).toBe(false)
    stream.end('completed')
    expect((await client.task('T').wait()).task?.status.state).toBe('completed')
  })

  it('the stream of a canceled task is left, although the agent keeps it open', async () => {
    const { peer, stream } = python('uvicorn')
    const client = await connect(peer)
    await client.send('go', { returnImmediately: true })
    expect((await client.task('T').cancel()).status.state).toBe('canceled')
    await expect.poll(() => stream.isLeft).toBe(true)
  })

  it('other software is sent a message that returns immediately', async () => {
    const { peer, methods } = python('another')
    await (await connect(peer)).send('go', { returnImmediately: true })
    expect(methods).toEqual(['message/send'])
  })

  it('a send that is not answered in time says that the agent may wait for the task', async () => {
    const { peer } = python('another', { isSilent: true })
    const sending = (await connect(peer, { timeout: 50 })).send('go', { returnImmediately: true })
    await expect(sending).rejects.toMatchObject({
      code: 'timeout',
      message: expect.stringContaining('may answer a send only when the task has ended'),
      hint: expect.any(String),
    })
  })

  it('an agent that refuses the stream is sent a message', async () => {
    const { peer, methods } = python('uvicorn', { refuses: true })
    await (await connect(peer)).send('go', { returnImmediately: true })
    expect(methods).toEqual(['message/stream', 'message/send'])
  })
})

/** An agent with one task, `T`. */
function python(software: string, { refuses = false, isSilent = false } = {}) {
  const card = { name: 'Test', url: 'http://localhost/', protocolVersion: '0.2.5', capabilities: { streaming: true } }
  const methods: string[] = []
  let state = 'submitted'
  let controller: ReadableStreamDefaultController | undefined
  const taskOf = () => ({ kind: 'task', id: 'T', contextId: 'c', status: { state } })
  const eventOf = (result: object) =>
    new TextEncoder().encode(`data: ${JSON.stringify({ jsonrpc: '2.0', result })}\n\n`)
  const stream = {
    isLeft: false,
    end(last: string) {
      state = last
      const update = { kind: 'status-update', taskId: 'T', contextId: 'c', status: { state }, final: true }
      controller?.enqueue(eventOf(update))
      controller?.close()
    },
  }
  const body = () =>
    new ReadableStream({
      start(opened) {
        controller = opened
        opened.enqueue(eventOf(taskOf()))
      },
      cancel() {
        stream.isLeft = true
      },
    })
  const cards = cardRoute(card)
  const peer = fakePeer(async (request) => {
    const found = await cards(request)
    if (found) return new Response(found.body, { headers: { 'content-type': 'application/json', server: software } })
    const { method } = await request.json()
    methods.push(method)
    if (isSilent) return await new Promise<Response>(() => {})
    if (method === 'tasks/cancel') state = 'canceled'
    if (method !== 'message/stream') return Response.json({ jsonrpc: '2.0', result: taskOf() })
    if (refuses) return Response.json({ jsonrpc: '2.0', error: { code: -32004, message: 'No streams' } })
    return new Response(body(), { headers: { 'content-type': 'text/event-stream' } })
  })
  return { peer, methods, stream }
}
