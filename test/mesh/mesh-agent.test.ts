import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/core/client/connect.ts'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { createHandler } from '../../src/core/server/handler.ts'
import { MeshError, type MeshMethod, MeshRefusal } from '../../src/entries/mesh.ts'
import { meshAgent } from '../../src/entries/mesh-bridge.ts'
import type { MeshAgentOptions } from '../../src/mesh/bridge/agent.ts'
import { silentLogger } from '../support/logger.ts'
import { meshPair, startMeshServer } from '../support/mesh/mesh-peers.ts'
import { anonymousListsAll } from '../support/servers/local-handler.ts'

const profile = {
  name: 'Prices',
  skills: [
    { id: 'get_price', name: 'Price' },
    { id: 'news', name: 'News' },
  ],
}

/** Serves a mesh peer as an A2A agent and returns a client of it. */
async function peerAsAgent(methods: Readonly<Record<string, MeshMethod>>, more: Partial<MeshAgentOptions> = {}) {
  const { shop, price } = await meshPair({ methods })
  const { endpoint } = await startMeshServer(price)
  const link = shop.link({ agentId: 'price-agent', endpoint })
  const handler = createHandler(meshAgent({ link, profile, ...more }), {
    auth: anonymousListsAll,
    logger: silentLogger,
    turns: { cancelGrace: 10, taskAfter: 500 },
  })
  onTestFinished(() => handler.drain(0))
  return await connect(handler)
}

const prices: Readonly<Record<string, MeshMethod>> = {
  get_price: ({ symbol = 'TEA' }) => ({ symbol, price: 4.25 }),
  headlines: (parameters) => ({ asked: parameters }),
}

describe('a mesh peer as an A2A agent', () => {
  it('a skill calls the method with its id and returns the data', async () => {
    const client = await peerAsAgent(prices)
    expect(await client.skill('get_price', { symbol: 'COFFEE' })).toEqual({ symbol: 'COFFEE', price: 4.25 })
  })

  it('a skill can call a method with another name, and text arrives as text', async () => {
    const client = await peerAsAgent(prices, { methods: { news: 'headlines' } })
    expect(await client.skill('news', 'of tea')).toEqual({ asked: { text: 'of tea' } })
    expect(await client.skill('news', [1, 2])).toEqual({ asked: { data: [1, 2] } })
  })

  it('askOf maps a message to a method and its parameters', async () => {
    const askOf: MeshAgentOptions['askOf'] = ({ metadata }) => ({
      method: 'get_price',
      parameters: { symbol: metadata?.symbol ?? 'MILK' },
    })
    const client = await peerAsAgent(prices, { askOf, profile: { name: 'Prices' } })
    const { message } = await client.send('how much?', { metadata: { symbol: 'TEA' } })
    expect(message?.parts).toMatchObject([{ data: { symbol: 'TEA', price: 4.25 } }])
  })

  it('answerAs artifact returns a task with an artifact', async () => {
    const client = await peerAsAgent(prices, { answerAs: 'artifact' })
    const { task } = await client.send({ data: { symbol: 'TEA' } }, { skill: 'get_price' })
    expect(task).toMatchObject({
      status: { state: 'completed' },
      artifacts: [{ name: 'get_price', parts: [{ data: { symbol: 'TEA', price: 4.25 } }] }],
    })
  })

  it('a message for an unknown skill is rejected without calling the peer', async () => {
    const client = await peerAsAgent(prices)
    for (const skill of ['no_skill', undefined]) {
      await expect(client.send('tea', skill ? { skill } : {})).rejects.toMatchObject({
        code: 'invalid-params',
        message: expect.stringContaining('one of the skills get_price, news'),
      })
    }
    expect(() => meshAgent({ link: () => expect.fail('asked'), profile: { name: 'Nothing' } })).toThrow(
      'expected skills',
    )
  })

  it.each([
    ['INVALID_CURRENCY', 'tool-failed', () => new MeshRefusal('INVALID_CURRENCY', 'Not in shells.')],
    ['VALIDATION_FAILED', 'invalid-params', () => new MeshRefusal('VALIDATION_FAILED', 'Not in shells.')],
    ['FORBIDDEN', 'forbidden', () => new MeshError('FORBIDDEN', 'Not in shells.')],
  ])('a refused call is a failed task with the reason %s', async (reason, code, refusal) => {
    const client = await peerAsAgent({
      get_price() {
        throw refusal()
      },
    })
    const { task } = await client.send({ data: {} }, { skill: 'get_price' })
    expect(task?.status).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: 'Not in shells.' }, { data: { reason, code } }] },
    })
  })

  it('the error of an unreachable peer does not reveal its endpoint', async () => {
    const { shop } = await meshPair()
    const link = shop.link({ agentId: 'price-agent', endpoint: 'http://127.0.0.1:1/secret' })
    const handler = createHandler(meshAgent({ link, profile }), { auth: anonymousListsAll, logger: silentLogger })
    onTestFinished(() => handler.drain(0))
    const { task } = await (await connect(handler)).send({ data: {} }, { skill: 'get_price' })
    expect(task?.status.message?.parts).toMatchObject([
      { text: 'The agent behind this one cannot be reached.' },
      { data: { reason: 'SERVICE_UNAVAILABLE', code: 'unavailable' } },
    ])
    expect(JSON.stringify(task)).not.toContain('secret')
  })

  it('a slow call is a task that can be read, listed and canceled', async () => {
    const client = await peerAsAgent({ get_price: () => new Promise<never>(() => {}) })
    const { task } = await client.send({ data: {} }, { skill: 'get_price', returnImmediately: true })
    if (!task) return expect.fail('no task')
    expect((await client.task(task.id).get()).status.state).toMatch(/submitted|working/)
    expect((await client.listTasks().next()).value).toMatchObject({ id: task.id })
    expect((await client.task(task.id).cancel()).status.state).toBe('canceled')
  })

  it('a stream has a message, or a task with its artifact', async () => {
    const gate = Promise.withResolvers<void>()
    const slowly = { get_price: () => gate.promise.then(() => ({ price: 4.25 })) }
    const asked = [{ data: {} }, { skill: 'get_price' }] as const
    expect(await typesOf((await peerAsAgent(prices)).stream(...asked))).toEqual(['message'])
    const whole = ['task submitted', 'status working', 'artifact', 'status completed']
    expect(await typesOf((await peerAsAgent(prices, { answerAs: 'artifact' })).stream(...asked))).toEqual(whole)
    const slow = (await peerAsAgent(slowly, { answerAs: 'artifact' })).stream(...asked)
    const first = (await slow.next()).value
    expect(first).toMatchObject({ type: 'task', task: { status: { state: 'submitted' } } })
    gate.resolve()
    expect(await typesOf(slow)).toEqual(whole.slice(1))
  })

  it('a refused call is a failed task in a stream', async () => {
    const refuse: MeshMethod = () => {
      throw new MeshRefusal('SOLD_OUT', 'There is none left.')
    }
    const client = await peerAsAgent({ get_price: refuse })
    const types = await typesOf(client.stream({ data: {} }, { skill: 'get_price' }))
    expect(types).toEqual(['task submitted', 'status failed'])
  })

  it('the peer gets the trace of the caller', async () => {
    const client = await peerAsAgent({
      get_price: (_, { trace }) => ({ in: trace?.traceparent.slice(3, 35) ?? 'none' }),
    })
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    const said = await client.skill('get_price', {}, { headers: { traceparent } })
    expect(said).toEqual({ in: '0af7651916cd43dd8448eb211c80319c' })
  })

  it('the link can depend on the principal', async () => {
    const asked: string[] = []
    const { shop, price } = await meshPair()
    const { endpoint } = await startMeshServer(price)
    const link: MeshAgentOptions['link'] = ({ id }) => {
      asked.push(id)
      return shop.link({ agentId: 'price-agent', endpoint })
    }
    const handler = createHandler(meshAgent({ link, profile }), { auth: anonymousListsAll, logger: silentLogger })
    onTestFinished(() => handler.drain(0))
    await (await connect(handler)).skill('get_price', { symbol: 'TEA' })
    expect(asked).toEqual(['anonymous'])
  })
})

async function typesOf(events: AsyncIterable<StreamEvent>): Promise<readonly string[]> {
  const types: string[] = []
  for await (const event of events) {
    const status = event.type === 'task' ? event.task.status : event.type === 'status' ? event.status : undefined
    types.push(status ? `${event.type} ${status.state}` : event.type)
  }
  return types
}
