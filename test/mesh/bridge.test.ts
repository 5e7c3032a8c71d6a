import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { agent } from '../../src/core/agent/agent.ts'
import type { AgentFunction, AgentImplementation } from '../../src/core/agent/agent-function.ts'
import type { SkillProfile } from '../../src/core/agent/skill.ts'
import { skill } from '../../src/core/agent/skill.ts'
import type { JsonObject } from '../../src/core/base/json.ts'
import { cardOf } from '../../src/core/server/card.ts'
import { createHandler } from '../../src/core/server/handler.ts'
import type { HandlerOptions } from '../../src/core/server/options.ts'
import { createMeshPeer, MeshRefusal } from '../../src/entries/mesh.ts'
import { a2aMethods } from '../../src/entries/mesh-bridge.ts'
import type { BridgeOptions } from '../../src/mesh/bridge/methods.ts'
import { silentLogger } from '../support/logger.ts'
import { type BridgedService, startBridgedService } from '../support/mesh/bridged-service.ts'
import { meshCard, meshPair, post, signedRequest, startMeshServer } from '../support/mesh/mesh-peers.ts'

type Options = Partial<HandlerOptions> & { readonly skills?: readonly SkillProfile[] }

/** An A2A agent behind a mesh peer, and links of two other peers to it. */
async function bridge(
  work: AgentImplementation | undefined,
  { skills = [], ...options }: Options = {},
  more: BridgeOptions = {},
): Promise<BridgedService> {
  const served = agent({ name: 'Prices', skills }, work)
  const { service, drain } = createHandler(served, {
    auth: 'none',
    logger: silentLogger,
    ...options,
    turns: { cancelGrace: 10 },
  })
  onTestFinished(() => drain(0))
  return await startBridgedService({ service, card: cardOf(served.profile), ...more })
}

function saying(text: string, more: JsonObject = {}) {
  return { message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more } }
}

async function taskIn(answer: Promise<JsonObject>) {
  const { task } = await answer
  return task as { readonly id: string; readonly contextId: string; readonly status: { readonly state: string } }
}

const echo: AgentFunction = ({ text }) => `You said: ${text}`

describe('a mesh peer that calls an A2A agent', () => {
  it('a peer gets the reply in the form of A2A 1.0', async () => {
    const { link } = await bridge(echo)
    expect(await link.request('a2a.send', saying('tea'))).toMatchObject({
      message: { role: 'ROLE_AGENT', parts: [{ text: 'You said: tea' }] },
    })
  })

  it('a peer reads, lists and cancels its tasks', async () => {
    const { link } = await bridge(async (turn) => {
      await turn.data({ price: 4.25 })
      if (turn.text === 'wait') await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
    })
    const done = await taskIn(link.request('a2a.send', saying('tea')))
    expect(done.status.state).toBe('TASK_STATE_COMPLETED')
    const begun = await taskIn(
      link.request('a2a.send', { ...saying('wait'), configuration: { returnImmediately: true } }),
    )
    expect(await link.request('a2a.get', { id: done.id })).toMatchObject({
      id: done.id,
      artifacts: [{ parts: [{ data: { price: 4.25 } }] }],
    })
    expect(await link.request('a2a.list', { pageSize: 1 })).toMatchObject({ tasks: [{ id: begun.id }], totalSize: 2 })
    expect(await link.request('a2a.cancel', { id: begun.id })).toMatchObject({
      id: begun.id,
      status: { state: 'TASK_STATE_CANCELED' },
    })
  })

  it('a peer gets an unfinished task after the patience timeout, reads it later, and answers its question', async () => {
    const gate = Promise.withResolvers<void>()
    const { link } = await bridge(
      async (turn) => {
        if (turn.task) return `${turn.text} it is`
        await turn.status('working', 'Looking')
        await gate.promise
        return void (await turn.requireInput('Green or black?'))
      },
      {},
      { patience: 100 },
    )
    const task = await taskIn(link.request('a2a.send', saying('tea')))
    expect(task.status.state).toBe('TASK_STATE_WORKING')
    gate.resolve()
    const { id: taskId, contextId } = task
    await expect
      .poll(async () => await link.request('a2a.get', { id: taskId }))
      .toMatchObject({ status: { state: 'TASK_STATE_INPUT_REQUIRED' } })
    const answered = await link.request('a2a.send', saying('Green', { taskId, contextId }))
    expect(answered).toMatchObject({ task: { id: taskId, status: { state: 'TASK_STATE_COMPLETED' } } })
  })

  it('a call to an agent that emits nothing ends with TIMEOUT', async () => {
    const { link } = await bridge(() => new Promise<never>(() => {}), {}, { patience: 50 })
    await expect(link.request('a2a.send', saying('tea'))).rejects.toMatchObject({ code: 'TIMEOUT' })
  })

  it('a peer has no access to the tasks of another peer', async () => {
    const { link: shop, other: news } = await bridge(async (turn) => void (await turn.data({ secret: turn.text })))
    const { id, contextId } = await taskIn(shop.request('a2a.send', saying('tea')))
    for (const method of ['a2a.get', 'a2a.cancel']) {
      const refusal = await news.request(method, { id }).catch((error) => error)
      expect(refusal).toBeInstanceOf(MeshRefusal)
      expect(refusal).toMatchObject({ code: 'NOT_FOUND', details: { reason: 'TASK_NOT_FOUND' } })
    }
    expect(await news.request('a2a.list')).toMatchObject({ tasks: [], totalSize: 0 })
    expect(await news.request('a2a.list', { contextId })).toMatchObject({ tasks: [], totalSize: 0 })
    await expect(news.request('a2a.send', saying('mine?', { taskId: id }))).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await shop.request('a2a.list')).toMatchObject({ totalSize: 1 })
  })

  it('the principal of a peer has the prefix mesh:', async () => {
    const { link } = await bridge(({ principal }) => principal.id)
    expect(await link.request('a2a.send', saying('who?'))).toMatchObject({
      message: { parts: [{ text: 'mesh:shop-agent' }] },
    })
  })

  it('the turn has the trace of the peer', async () => {
    const { link } = await bridge(({ trace }) => trace?.traceparent.slice(0, 35) ?? 'none')
    const trace = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }
    expect(await link.request('a2a.send', saying('where?'), { trace })).toMatchObject({
      message: { parts: [{ text: '00-0af7651916cd43dd8448eb211c80319c' }] },
    })
  })

  it('requests with the same idempotency key create one task, and another body with that key is rejected', async () => {
    const { link, other } = await bridge(async (turn) => void (await turn.data({ said: turn.text })))
    const sent = { ...saying('tea'), idempotencyKey: 'order 7' }
    const [first, second] = [await taskIn(link.request('a2a.send', sent)), await taskIn(link.request('a2a.send', sent))]
    expect(second.id).toBe(first.id)
    await expect(link.request('a2a.send', { ...saying('milk'), idempotencyKey: 'order 7' })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      details: { reason: 'CONFLICT' },
    })
    expect((await taskIn(other.request('a2a.send', sent))).id).not.toBe(first.id)
    await expect(link.request('a2a.send', { ...saying('tea'), idempotencyKey: '' })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('idempotencyKey'),
    })
  })

  it('one envelope runs one turn, even if two replicas receive it', async () => {
    let runs = 0
    const served = agent({ name: 'Prices', skills: [price] }, async (turn) => void (await turn.data({ run: ++runs })))
    const { service, drain } = createHandler(served, { auth: 'none', logger: silentLogger })
    onTestFinished(() => drain(0))
    const methods = a2aMethods({ service })
    const [one, two] = [await meshPair({ methods }), await meshPair({ methods })]
    const envelope = await signedRequest(one.shopKey, { payload: { method: 'a2a.send', parameters: saying('tea') } })
    const answers = [one, two].map(async (pair) => await post((await startMeshServer(pair.price)).endpoint, envelope))
    const tasks = (await Promise.all(answers)).map(({ body }) => Object(body.payload).data.task.id)
    expect(tasks[0]).toBe(tasks[1])
    expect(runs).toBe(1)
  })

  it('the error names the invalid field', async () => {
    const { link } = await bridge(echo)
    await expect(link.request('a2a.send', { message: { role: 'ROLE_USER' } })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('message.'),
      details: { reason: 'INVALID_PARAMS', a2a: { code: -32602 } },
    })
  })

  it('the rate limits of the agent apply to peers', async () => {
    const limits = { perSkill: { tea: { requests: { limit: 1, per: 60_000 } } } }
    const { link } = await bridge(echo, { limits, skills: [{ id: 'tea', name: 'Tea' }] })
    await link.request('tea', { text: 'first' })
    await expect(link.request('tea', { text: 'second' })).rejects.toMatchObject({
      code: 'RATE_LIMIT_EXCEEDED',
      retryAfter: expect.any(Number),
      details: { reason: 'RATE_LIMITED' },
    })
  })
})

const price = skill({
  id: 'get_price',
  name: 'Price',
  input: z.object({ symbol: z.string() }),
  output: z.object({ symbol: z.string(), price: z.number() }),
  run: ({ symbol }) => ({ symbol, price: 4.25 }),
})
const total = skill({
  id: 'total',
  name: 'Total',
  input: z.array(z.number()),
  output: z.number(),
  run: (numbers) => numbers.reduce((sum, each) => sum + each, 0),
})
const shout = skill({ id: 'shout', name: 'Shout', run: (text) => text.toUpperCase() })
const stuck = skill({
  id: 'stuck',
  name: 'Stuck',
  async run(_, turn) {
    await turn.status('working', 'Still at it')
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
    return undefined
  },
})
const broken = skill({
  id: 'broken',
  name: 'Broken',
  run: (_, turn) => turn.fail('No tea today').then(() => undefined),
})

describe('skills as mesh methods', () => {
  const skills = [price, total, shout, stuck, broken]
  const open = async () => (await bridge(undefined, { skills }, { patience: 200 })).link

  it('the parameters of a method are the input of the skill, and its output is the data', async () => {
    const link = await open()
    expect(await link.request('get_price', { symbol: 'TEA' })).toEqual({ symbol: 'TEA', price: 4.25 })
    expect(await link.request('total', { data: [1, 2, 3] })).toEqual({ data: 6 })
    expect(await link.request('shout', { text: 'tea' })).toEqual({ text: 'TEA' })
  })

  it('invalid parameters and unknown methods are rejected', async () => {
    const link = await open()
    await expect(link.request('get_price', { symbol: 7 })).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('symbol'),
    })
    await expect(link.request('no_skill')).rejects.toMatchObject({ code: 'NOT_FOUND', details: { what: 'method' } })
  })

  it('a skill without output is refused with its task, which the peer can read', async () => {
    const link = await open()
    const refusal = await link.request('stuck', { text: 'go' }).catch((error) => error)
    expect(refusal).toMatchObject({ code: 'TASK_UNFINISHED', message: 'The task of stuck is working: Still at it' })
    const { id } = refusal.details.task
    expect(await link.request('a2a.get', { id })).toMatchObject({ id, status: { state: 'TASK_STATE_WORKING' } })
    await expect(link.request('broken', { text: 'go' })).rejects.toMatchObject({
      code: 'TASK_FAILED',
      message: 'The task of broken is failed: No tea today',
    })
  })

  it('a skill with the id of an A2A method is an error', () => {
    const { service } = createHandler(agent({ name: 'Odd' }, echo), { auth: 'none', logger: silentLogger })
    const card = cardOf({ name: 'Odd', skills: [{ id: 'a2a.send', name: 'Mine' }] })
    expect(() => a2aMethods({ service, card })).toThrow('the skill id a2a.send is already')
  })
})

describe('an unsigned message', () => {
  it.each([
    [false, { status: 'AUTHENTICATION_FAILED' }],
    [true, { message: { parts: [{ text: 'anonymous' }] } }],
  ])('an unsigned message is accepted only if allowsAnonymous is true (%s)', async (allowsAnonymous, expected) => {
    const { service } = createHandler(
      agent({ name: 'Who' }, ({ principal }) => principal.id),
      { auth: 'none', logger: silentLogger },
    )
    const peer = createMeshPeer({
      card: meshCard('price-agent'),
      requireAuth: false,
      methods: a2aMethods({ service, allowsAnonymous }),
      logger: silentLogger,
    })
    const { endpoint } = await startMeshServer(peer)
    const shop = createMeshPeer({ card: meshCard('shop-agent'), requireAuth: false, logger: silentLogger })
    const asked = shop.link({ agentId: 'price-agent', endpoint }).request('a2a.send', saying('who?'))
    expect(await asked.catch(({ code }) => ({ status: code }))).toMatchObject(expected)
  })
})
