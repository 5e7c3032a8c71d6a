import { describe, expect, it } from 'vitest'
import { tell, wordsOf } from '../../test/contracts/service/story.ts'
import { collect } from '../../test/support/async.ts'
import { connectLightly } from '../../test/support/light-connect.ts'
import { cardRoute, createLocalHandler, fakePeer } from '../../test/support/servers/local-handler.ts'
import type { Binding, DialectName } from '../dialects/dialect.ts'
import { createCardCache } from './card-cache.ts'
import type { Target } from './options.ts'

const open = (target: Target, dialect: DialectName, binding: Binding = 'JSONRPC') =>
  connectLightly(target, { dialects: [dialect], bindings: [binding], retry: { tries: 1 } })

const ways: readonly (readonly [DialectName, Binding])[] = [
  ['v1.0', 'JSONRPC'],
  ['v1.0', 'HTTP+JSON'],
  ['v0.3-proto', 'HTTP+JSON'],
  ['v0.3', 'JSONRPC'],
  ['v0.2', 'JSONRPC'],
  ['v0.1', 'JSONRPC'],
]

describe.each(ways)('what is loaded at first for %s over %s', (name, binding) => {
  it('is enough to connect, send, stream, get, ask and cancel', async () => {
    const client = await open(createLocalHandler(tell), name, binding)
    expect((await client.send('hello')).text).toBe('hi')
    const { task } = await client.send('count')
    expect(await client.task(task?.id ?? '').get()).toMatchObject({ status: { state: 'completed' } })
    expect((await collect(client.stream('count'))).map(wordsOf)).toContain('status completed: Counted')
    const asked = await client.send('ask')
    expect(asked.task?.status.state).toBe('input-required')
    expect((await client.task(asked.task?.id ?? '').cancel()).status.state).toBe('canceled')
    expect(client.explain().endpoint).toMatchObject({ dialect: name, binding })
  })
})

describe('a client that cannot load the whole reader', () => {
  const url = 'http://localhost/'
  const wire = { name: 'Test', supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }

  it('says so where an answer is written in another way than usual', async () => {
    const task = { id: 't', context_id: 'c', status: { state: 3 } }
    const odd = fakePeer(cardRoute(wire), async (request) => {
      const { id } = (await request.json()) as { id: number }
      return Response.json({ jsonrpc: '2.0', id, result: task })
    })
    const client = await open(odd, 'v1.0')
    await expect(client.task('t').get()).rejects.toMatchObject({
      name: 'A2AError',
      code: 'unavailable',
      reason: 'unread',
      message: 'What is needed to read the answer could not be loaded.',
      dialect: 'v1.0',
    })
  })

  it('does not send again what was answered so', async () => {
    let sends = 0
    const odd = fakePeer(cardRoute(wire), async (request) => {
      sends++
      const { id } = (await request.json()) as { id: number }
      return Response.json({ jsonrpc: '2.0', id, result: { message: { message_id: 'm', role: 2, parts: [] } } })
    })
    const client = await open(odd, 'v1.0')
    await expect(client.send('hello')).rejects.toMatchObject({ code: 'unavailable', reason: 'may-have-run' })
    expect(sends).toBe(1)
  })

  it('needs none for a card that has not changed', async () => {
    const peer = fakePeer(createLocalHandler(tell).fetch)
    const cardCache = createCardCache()
    for (const outcome of ['found', 'unchanged']) {
      const client = await connectLightly(peer, { cardCache })
      expect(client.explain().steps[0]).toMatchObject({ type: 'card', outcome })
    }
  })

  it('says so where a card says who may call', async () => {
    const secured = { ...wire, securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'k' } } } }
    await expect(open(fakePeer(cardRoute(secured)), 'v1.0')).rejects.toMatchObject({ reason: 'unread' })
  })
})
