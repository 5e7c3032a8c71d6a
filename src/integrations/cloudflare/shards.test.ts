import { describe, expect, it } from 'vitest'
import { collect } from '../../../test/support/async.ts'
import { agent } from '../../core/agent/agent.ts'
import { connect } from '../../core/client/connect.ts'
import type { ConnectOptions } from '../../core/client/options.ts'
import { newId } from '../../core/protocol/ids.ts'
import { createHandler, type Handler } from '../../core/server/handler.ts'
import { createMemoryLog } from '../../core/tasks/memory-log.ts'
import { shardOf, shardOfRequest } from './shards.ts'

const asking = agent({ name: 'Asking' }, async (turn) => {
  if (turn.text === 'endless') await new Promise((_, reject) => turn.signal.addEventListener('abort', reject))
  return `It is ${(await turn.ask('Which?')).text}`
})

/** One handler for each shard, with a log of its own, behind the rule that chooses the shard. */
function createShards() {
  const shards = new Map<string, Handler>()
  const used: string[] = []
  return {
    used,
    async fetch(url: string, init: RequestInit): Promise<Response> {
      const body = typeof init.body === 'string' ? JSON.parse(init.body) : undefined
      const shard = shardOfRequest(new URL(url), body) ?? 'common'
      if (shard !== 'common') used.push(shard)
      const log = { ...createMemoryLog(), idSuffix: () => (shard === 'common' ? '' : shard) }
      const push = { fetch: Object.assign(async () => new Response(), { check: async () => {} }) }
      const handler = shards.get(shard) ?? createHandler(asking, { auth: 'none', log, push })
      shards.set(shard, handler)
      return await handler.fetch(new Request(url, init))
    },
  }
}

const clients: readonly (readonly [string, Pick<ConnectOptions, 'dialects' | 'bindings'>])[] = [
  ['1.0 over JSON-RPC', { dialects: ['v1.0'], bindings: ['JSONRPC'] }],
  ['1.0 over REST', { dialects: ['v1.0'], bindings: ['HTTP+JSON'] }],
  ['0.3 over JSON-RPC', { dialects: ['v0.3'], bindings: ['JSONRPC'] }],
  ['0.3 over REST', { dialects: ['v0.3'], bindings: ['HTTP+JSON'] }],
  ['0.3 in ProtoJSON', { dialects: ['v0.3-proto'], bindings: ['HTTP+JSON'] }],
  ['0.2', { dialects: ['v0.2'] }],
  ['0.1', { dialects: ['v0.1'] }],
]

describe('the shard of a request without credentials', () => {
  it.each(clients)('every request about a task of a %s client gets to the object that has it', async (_, options) => {
    const { fetch, used } = createShards()
    const client = await connect('https://asking.example', { ...options, fetch })
    const question = await client.send('hello')
    expect(question.task?.status.state).toBe('input-required')
    const { id = '', contextId = '' } = question.task ?? {}
    const task = client.task(id)
    expect((await task.get()).id).toBe(id)
    await task.push.create({ url: 'https://hooks.example/' })
    const conversation = client.conversation({ taskId: id, contextId })
    expect((await conversation.send('blue')).text).toBe('It is blue')
    // Another task in the same context.
    const next = await client.conversation({ contextId }).send('again')
    expect(next.task?.status.state).toBe('input-required')
    expect((await client.task(next.task?.id ?? '').cancel()).status.state).toBe('canceled')
    // 0.1 clients choose the ids of their tasks.
    if (options.dialects?.includes('v0.1')) return
    expect(new Set(used).size).toBe(1)
    if (!options.dialects?.includes('v1.0')) return
    const listed = await collect(client.listTasks({ contextId }))
    expect(listed.map((found) => found.id).toSorted()).toEqual([id, next.task?.id].toSorted())
  })

  it('new conversations are distributed by the ids of their messages, and repetitions get to the same object', () => {
    const shardOfMessage = (messageId: string) =>
      shardOfRequest(new URL('https://a.example/'), { jsonrpc: '2.0', params: { message: { messageId } } })
    const shards = Array.from({ length: 2_000 }, () => shardOfMessage(crypto.randomUUID()))
    expect(new Set(shards).size).toBeGreaterThan(240)
    for (const shard of shards) expect(shard).toMatch(/^[0-9a-f]{2}$/)
    expect(shardOfMessage('order-1')).toBe(shardOfMessage('order-1'))
  })

  it('the ids that an object makes lead back to it', () => {
    for (const shard of ['00', '7f', 'ff']) expect(shardOf(newId(shard))).toBe(shard)
  })

  it('a request without ids has no shard', () => {
    for (const path of ['/.well-known/agent-card.json', '/', '/tasks', '/tasks/%ff']) {
      expect(
        shardOfRequest(new URL(path, 'https://a.example'), { jsonrpc: '2.0', id: 'call-1', params: {} }),
      ).toBeUndefined()
    }
  })
})
