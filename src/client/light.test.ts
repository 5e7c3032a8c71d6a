import { describe, expect, it } from 'vitest'
import { tell, wordsOf } from '../../test/contracts/service/story.ts'
import { collect } from '../../test/support/house.ts'
import { card, local, peerOf } from '../../test/support/local.ts'
import { allClients, readOlderCard } from '../dialects/all-clients.ts'
import type { Binding, DialectName, KnownDialect } from '../dialects/dialect.ts'
import { loaded } from '../protocol/loaded.ts'
import { createConnect } from './create-connect.ts'
import { overHttp } from './over-http.ts'

const gone = () => loaded<never>('read the answer', Promise.reject(new TypeError('offline')), 'unread')

/** The client of a page that gets no more code than it has at first, and that of the version it speaks. */
function connectLightly(name: DialectName) {
  const light = ({ load, ...known }: KnownDialect): KnownDialect => ({
    ...known,
    load: async () => ({ ...(await load()), lenient: gone }),
  })
  const [newest, ...older] = allClients
  const connect = createConnect({ dialects: [light(newest), ...older.map(light)], readOlderCard, transports: overHttp })
  return (target: Parameters<typeof connect>[0], binding: Binding = 'JSONRPC') =>
    connect(target, { dialects: [name], bindings: [binding], retry: { tries: 1 } })
}

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
    const client = await connectLightly(name)(local(tell), binding)
    expect((await client.send('hello')).text).toBe('hi')
    const { task } = await client.send('count')
    expect(await client.task(task?.id ?? '').get()).toMatchObject({ status: { state: 'completed' } })
    expect((await collect(client.stream('count'))).map(wordsOf)).toContain('status completed: Counted')
    const asked = await client.send('ask')
    expect(asked.task?.status.state).toBe('input-required')
    expect((await client.task(asked.task?.id ?? '').cancel()).status.state).toBe('canceled')
    expect(client.explain().door).toMatchObject({ dialect: name, binding })
  })
})

describe('a client that cannot load the whole reader', () => {
  const url = 'http://localhost/'
  const wire = { name: 'Test', supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }

  it('says so where an answer is written in another way than usual', async () => {
    const task = { id: 't', context_id: 'c', status: { state: 3 } }
    const odd = peerOf(card(wire), async (request) => {
      const { id } = (await request.json()) as { id: number }
      return Response.json({ jsonrpc: '2.0', id, result: task })
    })
    const client = await connectLightly('v1.0')(odd)
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
    const odd = peerOf(card(wire), async (request) => {
      sends++
      const { id } = (await request.json()) as { id: number }
      return Response.json({ jsonrpc: '2.0', id, result: { message: { message_id: 'm', role: 2, parts: [] } } })
    })
    const client = await connectLightly('v1.0')(odd)
    await expect(client.send('hello')).rejects.toMatchObject({ code: 'unavailable', reason: 'may-have-run' })
    expect(sends).toBe(1)
  })

  it('says so where a card says who may call', async () => {
    const secured = { ...wire, securitySchemes: { key: { apiKeySecurityScheme: { location: 'header', name: 'k' } } } }
    await expect(connectLightly('v1.0')(peerOf(card(secured)))).rejects.toMatchObject({ reason: 'unread' })
  })
})
