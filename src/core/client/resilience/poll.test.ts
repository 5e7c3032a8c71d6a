import { describe, expect, it } from 'vitest'
import { countingAgent, describeEvent } from '../../../../test/contracts/service/contract.ts'
import { collect, deferred } from '../../../../test/support/async.ts'
import { agentRoute, cardRoute, createLocalHandler, fakePeer } from '../../../../test/support/servers/local-handler.ts'
import { connect } from '../connect.ts'
import type { ConnectOptions, Local, Notice } from '../options.ts'

const quick = { minDelay: 1, maxDelay: 2 }

async function open(peer: Local, options: ConnectOptions = {}) {
  const notices: Notice[] = []
  const onNotice = (notice: Notice) => notices.push(notice)
  const client = await connect(peer, { retry: quick, resume: quick, polling: quick, onNotice, ...options })
  return { client, typesOf: () => notices.map(({ type }) => type) }
}

function createCard(members: object = {}) {
  const url = 'http://localhost/'
  const supportedInterfaces = [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }]
  return { name: 'Test', supportedInterfaces, ...members }
}

/** Rejects calls for a stream with this code. */
const noStreams = (code: number) => async (request: Request) => {
  const { id, method } = JSON.parse((await request.text()) || '{}')
  const isStream = /stream|subscribe/i.test(`${method}`)
  return isStream ? Response.json({ jsonrpc: '2.0', id, error: { code, message: 'no streams' } }) : undefined
}

describe('an agent that does not stream', () => {
  const expected = ['task submitted', 'artifact onetwothree', 'status completed: Counted']

  it.each([
    ['its card says so', { capabilities: { streaming: false } }, []],
    ['it rejects the call', {}, [noStreams(-32004)]],
    ['it lacks the method', {}, [noStreams(-32601)]],
  ])('an agent is polled if %s', async (_, members, answers) => {
    const go = deferred()
    const handler = createLocalHandler(async (turn) => {
      await turn.status('working')
      await go.promise
      await countingAgent(turn)
    })
    const wire = createCard(members)
    const { client, typesOf } = await open(fakePeer(cardRoute(wire), ...answers, agentRoute(handler)))
    const events: string[] = []
    for await (const event of client.stream('count')) {
      events.push(describeEvent(event))
      go.resolve()
    }
    expect(events.filter((event) => !event.includes('Counting'))).toEqual(expected)
    expect(typesOf()).toEqual(['polling'])
  })

  it('a subscription polls the task as well', async () => {
    const handler = createLocalHandler(countingAgent)
    const { client } = await open(fakePeer(noStreams(-32004), handler.fetch))
    const { task } = await client.send('count')
    const events = await collect(client.task(task?.id ?? '').subscribe())
    expect(events.map(describeEvent)).toEqual(['task completed'])
    expect((await client.task(task?.id ?? '').wait()).output.text).toBe('onetwothree')
  })

  it('a message ends the stream', async () => {
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }] }
    const answer = () => Response.json({ jsonrpc: '2.0', result: { message } })
    const { client } = await open(fakePeer(cardRoute(createCard()), noStreams(-32004), answer))
    expect((await collect(client.stream('hello'))).map(describeEvent)).toEqual(['message: hi'])
  })

  it('a send that the agent rejects fails', async () => {
    const { client } = await open(fakePeer(noStreams(-32004), createLocalHandler(countingAgent).fetch))
    await expect(collect(client.stream('more', { taskId: 'unknown' }))).rejects.toMatchObject({
      code: 'task-not-found',
    })
  })

  it('an agent that rejects one stream is not polled', async () => {
    const { client, typesOf } = await open(createLocalHandler(countingAgent))
    const { task } = await client.send('count')
    await expect(collect(client.stream('more', { taskId: task?.id ?? '' }))).rejects.toMatchObject({
      code: 'unsupported-operation',
    })
    expect((await collect(client.stream('count'))).length).toBeGreaterThan(3)
    expect(typesOf()).toEqual([])
  })

  it('a single response to a call for a stream is its only event', async () => {
    const handler = createLocalHandler(countingAgent)
    const unary = async (request: Request) => {
      const text = await request.text()
      if (!text.includes('SendStreamingMessage')) return undefined
      const body = text.replace('SendStreamingMessage', 'SendMessage')
      return await handler.fetch(new Request(request.url, { method: 'POST', body, headers: request.headers }))
    }
    const { client } = await open(fakePeer(unary, handler.fetch))
    expect((await collect(client.stream('count'))).map(describeEvent)).toEqual(['task completed'])
  })
})
