import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { WireFrame } from '../../src/entries/operator.ts'
import { shareCli } from '../support/processes/cli.ts'
import { startSdkServer } from '../support/sdk/sdk-server.ts'
import { openRelay } from './support/relay.ts'

const { start } = shareCli()

async function collect<T>(items: AsyncIterable<{ readonly value: T }>): Promise<T[]> {
  const all: T[] = []
  for await (const { value } of items) all.push(value)
  return all
}

describe('an agent of the official SDK in `parley console`', () => {
  it('has its own card and interfaces, and receives what the wire page sends', async () => {
    const url = await startSdkServer()
    const { operator } = await openRelay(start, [url])
    const [agent] = (await operator.agents()).agents
    expect(agent).toMatchObject({ id: 'ada', name: 'Ada', url, limits: [] })
    expect(agent?.foreign?.interfaces).toEqual([
      { binding: 'JSONRPC', version: '1.0', url: `${url}/rpc` },
      { binding: 'HTTP+JSON', version: '1.0', url: `${url}/rest` },
      { binding: 'JSONRPC', version: '0.3', url: `${url}/rpc` },
      { binding: 'HTTP+JSON', version: '0.3', url: `${url}/rest` },
    ])
    const received = await (await fetch(`${url}/.well-known/agent-card.json`)).json()
    const cards = await operator.cards('ada')
    expect(cards).toEqual({
      cards: [{ version: '1.0', card: received }],
      violations: [],
      signature: { state: 'unsigned' },
    })
    const { features } = (await operator.session()).server
    expect(features).toEqual(['history', 'doctor', 'conformance', 'connect'])
    expect((await operator.overview('hour')).agents).toEqual([])

    // The wire page calls the addresses of its card alone.
    const compose = { agent: 'ada', operation: 'sendMessage', text: 'hello' } as const
    for (const [dialect, binding, address] of [
      ['1.0', 'JSONRPC', `${url}/rpc`],
      ['1.0', 'REST', `${url}/rest/message:send`],
      ['0.3', 'JSONRPC', `${url}/rpc`],
    ] as const) {
      const request = await operator.composeWire({ ...compose, dialect, binding })
      expect(request.url).toBe(address)
      const frames: WireFrame[] = await collect(operator.sendWire(request))
      expect(frames[0]).toMatchObject({ type: 'head', status: 200, headers: { 'x-powered-by': 'Express' } })
      expect(frames.map((frame) => (frame.type === 'chunk' ? frame.text : '')).join('')).toContain('"hi"')
    }
    await expect(operator.composeWire({ ...compose, dialect: '0.2', binding: 'JSONRPC' })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('the card names no JSONRPC interface of A2A 0.2'),
    })
    const request = await operator.composeWire({ ...compose, dialect: '1.0', binding: 'JSONRPC' })
    for (const other of ['http://evil.example/', '/', `${url}.evil.example/`]) {
      await expect(collect(operator.sendWire({ ...request, url: other }))).rejects.toMatchObject({ status: 400 })
    }
  })

  it('shows each request of the chat and of the tasks as sent and received', async () => {
    const url = await startSdkServer()
    const { operator, chat } = await openRelay(start, [url])
    const client = await chat('ada')
    for await (const _ of client.stream('count')) {
    }
    await operator.tasks()
    await operator.tasks()
    const { exchanges, dropped } = await operator.wireLog()
    expect(dropped).toBe(0)
    expect(exchanges.map(({ operation, status }) => [operation, status]).toReversed()).toEqual([
      ['Agent card', 200],
      ['SendStreamingMessage', 200],
      ['ListTasks', 200],
    ])
    const [, stream] = exchanges
    expect(stream).toMatchObject({
      ...{ agent: 'ada', source: 'client', binding: 'JSONRPC', version: '1.0', method: 'POST', url: `${url}/rpc` },
      ...{ isOpen: false, duration: expect.any(Number) },
    })
    const exchange = await operator.wireExchange(stream?.id ?? 0)
    expect(JSON.parse(exchange.request.body)).toMatchObject({ method: 'SendStreamingMessage' })
    expect(exchange.request.headers).toMatchObject({ accept: 'text/event-stream', 'a2a-version': '1.0' })
    expect(exchange.answer?.headers).toMatchObject({ 'x-powered-by': 'Express' })
    expect(exchange.events.length).toBe(stream?.eventCount)
    expect(exchange.events.map(({ text }) => text).join('\n')).toContain('TASK_STATE_COMPLETED')
    expect((await operator.wireLog({ search: 'task_state_completed' })).exchanges.length).toBeGreaterThan(0)
    expect((await operator.wireLog({ search: 'nowhere to be found' })).exchanges).toEqual([])
    const { log } = (await operator.wireHar()) as { log: { version: string; entries: readonly object[] } }
    expect([log.version, log.entries.length]).toEqual(['1.2', 3])
    expect(log.entries[1]).toMatchObject({
      request: { method: 'POST', url: `${url}/rpc`, postData: { mimeType: 'application/json' } },
      response: { status: 200, content: { mimeType: expect.stringContaining('text/event-stream') } },
    })
  })

  it('shows what its tasks say, and leaves out what only its server knows', async () => {
    const url = await startSdkServer()
    const { operator, chat } = await openRelay(start, [url])
    const client = await chat('ada')
    const stream = client.stream('wait')[Symbol.asyncIterator]()
    await stream.next()
    await expect.poll(async () => (await operator.tasks()).tasks.map(({ phase }) => phase)).toEqual(['working'])
    const { tasks, total } = await operator.tasks()
    expect([tasks[0]?.created, tasks[0]?.principal, total]).toEqual([0, { id: 'you' }, 1])
    expect((await operator.tasks({ state: 'stuck' })).tasks).toEqual([])
    expect((await operator.tasks({ state: 'completed' })).tasks).toEqual([])
    const key = { agent: 'ada', taskId: tasks[0]?.taskId ?? '' }
    expect((await operator.cancelTasks({ tasks: [key] })).results).toMatchObject([{ agent: 'ada' }])
    await stream.return?.(undefined)
    await expect.poll(async () => (await operator.tasks()).tasks.map(({ phase }) => phase)).toEqual(['canceled'])
  })
})

describe('an agent with many tasks', () => {
  const card = (url: string, version: string) => ({
    ...{ name: 'Archive', description: 'Keeps tasks.', version: '1', skills: [], capabilities: { streaming: false } },
    ...{ defaultInputModes: ['text/plain'], defaultOutputModes: ['text/plain'] },
    ...(version === '1.0'
      ? { supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }
      : { url: `${url}/rpc`, preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' }),
  })

  /** A server of 250 tasks, written by hand. */
  async function startArchive(version: string, totalSize: number | undefined): Promise<string> {
    const all = Array.from({ length: 250 }, (_, index) => ({
      ...{ id: `task-${index}`, contextId: 'c' },
      status: { state: index % 2 === 0 ? 'TASK_STATE_WORKING' : 'TASK_STATE_COMPLETED' },
    }))
    const server = createServer(async (request, response) => {
      response.setHeader('content-type', 'application/json')
      if (request.url?.startsWith('/.well-known/')) return void response.end(JSON.stringify(card(url, version)))
      const text = (await Array.fromAsync(request.setEncoding('utf8'))).join('')
      const { id, method, params = {} } = JSON.parse(text)
      const answer = (value: object) => void response.end(JSON.stringify({ jsonrpc: '2.0', id, ...value }))
      if (method === 'message/send') {
        const status = { state: 'working', timestamp: '2026-01-01T00:00:00Z' }
        return answer({ result: { kind: 'task', id: 'own', contextId: 'c', status } })
      }
      if (method === 'tasks/get') {
        const status = { state: 'working', timestamp: '2026-01-01T00:00:00Z' }
        return answer({ result: { kind: 'task', id: params.id, contextId: 'c', status } })
      }
      if (method !== 'ListTasks' || version !== '1.0')
        return answer({ error: { code: -32601, message: 'Method not found' } })
      const from = Number(params.pageToken || 0)
      const tasks = all.slice(from, from + params.pageSize)
      const next = from + params.pageSize
      const nextPageToken = next < all.length ? `${next}` : ''
      answer({
        result: { tasks, nextPageToken, pageSize: tasks.length, ...(totalSize !== undefined && { totalSize }) },
      })
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    return url
  }

  it('is listed page by page to its end, with the count that it names', async () => {
    const { operator } = await openRelay(start, [await startArchive('1.0', 250)])
    const ids: string[] = []
    let cursor: string | undefined
    do {
      const page = await operator.tasks({ limit: 60, ...(cursor && { cursor }) })
      expect([page.total, page.incomplete]).toEqual([250, undefined])
      ids.push(...page.tasks.map(({ taskId }) => taskId))
      cursor = page.next
    } while (cursor !== undefined)
    expect(ids).toEqual(Array.from({ length: 250 }, (_, index) => `task-${index}`))
  })

  it('is listed as the first tasks of an unknown number, if it names no count', async () => {
    const { operator } = await openRelay(start, [await startArchive('1.0', undefined)])
    const page = await operator.tasks({ limit: 100 })
    expect(page.tasks).toHaveLength(100)
    expect(page.incomplete).toEqual([
      {
        agent: 'archive',
        reason: 'does not say how many tasks it has: these are the first 100 of an unknown number.',
      },
    ])
    const [task] = page.tasks
    expect([task?.changed, task?.created, task?.lease]).toEqual([0, 0, undefined])
  })

  it('shows the tasks of this console, if it speaks a version without lists', async () => {
    const { operator, chat } = await openRelay(start, [await startArchive('0.3', undefined)])
    const reason = 'cannot list its tasks: only those that this console began are shown.'
    expect(await operator.tasks()).toEqual({ tasks: [], total: 0, incomplete: [{ agent: 'archive', reason }] })
    const client = await chat('archive')
    await client.send('anything', { returnImmediately: true })
    expect((await operator.tasks()).tasks).toMatchObject([{ taskId: 'own', phase: 'working' }])
    const { exchanges } = await operator.wireLog()
    expect(exchanges.find(({ operation }) => operation === 'message/send')).toMatchObject({ status: 200 })
  })
})
