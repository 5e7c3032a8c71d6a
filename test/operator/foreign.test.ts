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
    // The card promises an extended card in four interfaces, and the server has none.
    expect((await collect(operator.doctor('ada'))).at(-1)).toMatchObject({ type: 'done', counts: { error: 4 } })
    const checks = (await operator.wireLog({ source: 'check' })).exchanges
    expect(checks.some((exchange) => exchange.url === `${url}/rpc` && exchange.version === '0.3')).toBe(true)
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

describe('the form of `parley console`', () => {
  const guarded = (scheme: (origin: string) => object) => ({
    card: (origin: string) => ({
      securitySchemes: { main: scheme(origin) },
      securityRequirements: [{ schemes: { main: { list: [] } } }],
    }),
  })

  it('connects with credentials, which appear nowhere, and remembers the agent', async () => {
    const authorized: string[] = []
    const url = await startSdkServer({
      ...guarded(() => ({ httpAuthSecurityScheme: { scheme: 'Bearer' } })),
      guard(request, response, next) {
        authorized.push(`${request.headers.authorization} ${request.headers['x-tenant']}`)
        if (request.headers.authorization === 'Bearer token-0123456789') next()
        else response.status(401).set('www-authenticate', 'Bearer').json({ error: 'no token' })
      },
    })
    const { operator, chat, origin, cookie, stop } = await openRelay(start, [])
    await expect(operator.connect({ url: 'no address' })).rejects.toMatchObject({
      status: 422,
      message: expect.stringContaining('no address'),
    })
    await expect(operator.connect({ url, headers: { 'a b': 'c' } })).rejects.toMatchObject({ status: 400 })
    expect(await operator.connect({ url })).toEqual({ type: 'connected', agent: 'ada', violations: [] })
    const [agent] = (await operator.agents()).agents
    expect(agent?.foreign?.schemes).toEqual([{ name: 'main', type: 'bearer' }])
    const call = (headers: Record<string, string>) =>
      fetch(`${origin}/console/a2a/ada`, {
        method: 'POST',
        headers: {
          cookie,
          'content-type': 'application/json',
          'a2a-version': '1.0',
          'x-parley-console': '1',
          ...headers,
        },
        body: JSON.stringify({
          ...{ jsonrpc: '2.0', id: 1, method: 'SendMessage' },
          params: { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hello' }] } },
        }),
      })
    // The status by which the chat opens the form.
    expect((await call({})).status).toBe(401)
    const credentials = { type: 'bearer', secret: 'token-0123456789' } as const
    const headers = { 'x-tenant': 'tenant-0123456789' }
    expect(await operator.connect({ url, headers, credentials })).toMatchObject({ agent: 'ada' })
    expect((await (await chat('ada')).send('hello')).text).toBe('hi')
    expect(authorized.at(-1)).toBe('Bearer token-0123456789 tenant-0123456789')
    const request = await operator.composeWire({
      agent: 'ada',
      dialect: '1.0',
      binding: 'REST',
      operation: 'listTasks',
    })
    expect((await collect(operator.sendWire(request)))[0]).toMatchObject({ status: 200 })

    const { exchanges } = await operator.wireLog()
    const all = await Promise.all(exchanges.map(({ id }) => operator.wireExchange(id)))
    expect(all.some((exchange) => exchange.request.headers.authorization === '[redacted]')).toBe(true)
    const everything = JSON.stringify([
      all,
      await operator.agents(),
      await operator.wireHar(),
      await operator.cards('ada'),
    ])
    expect(everything).not.toMatch(/(token|tenant)-0123456789/)
    expect((await operator.connections()).recent[0]).toEqual({ url, name: 'Ada' })
    await operator.disconnect('ada')
    expect((await operator.agents()).agents).toEqual([])
    await expect(operator.disconnect('ada')).rejects.toMatchObject({ status: 404 })
    await stop()
    const again = await openRelay(start, [])
    expect((await again.operator.connections()).recent[0]).toEqual({ url, name: 'Ada' })
  })

  it('lets the operator agree at an OAuth server, and goes on when the browser returns', async () => {
    const tokenRequests: URLSearchParams[] = []
    const url = await startSdkServer({
      ...guarded((origin) => ({
        oauth2SecurityScheme: {
          flows: {
            authorizationCode: {
              authorizationUrl: `${origin}/authorize`,
              tokenUrl: `${origin}/token`,
              scopes: { chat: 'Talk' },
            },
          },
        },
      })),
      async guard(request, response, next) {
        if (request.path === '/token') {
          tokenRequests.push(new URLSearchParams((await Array.fromAsync(request.setEncoding('utf8'))).join('')))
          response.json({ access_token: 'oauth-0123456789', token_type: 'bearer', expires_in: 3600 })
        } else if (request.headers.authorization === 'Bearer oauth-0123456789') next()
        else response.status(401).set('www-authenticate', 'Bearer').json({ error: 'no token' })
      },
    })
    const { operator, chat, origin } = await openRelay(start, [])
    const credentials = { type: 'oauth', clientId: 'console', scopes: ['chat'] } as const
    const answer = await operator.connect({ url, credentials })
    if (answer.type !== 'authorize') throw new Error('The operator is not asked.')
    const { searchParams, pathname } = new URL(answer.url)
    expect(pathname).toBe('/authorize')
    const redirect = searchParams.get('redirect_uri') ?? ''
    expect(redirect).toBe(`${origin}/console/connected`)
    expect(searchParams.get('code_challenge_method')).toBe('S256')
    const forged = await fetch(`${redirect}?code=evil&state=forged`)
    expect(forged.headers.get('refresh')).toContain('/console/connect?problem=')
    // The browser has no cookie here: it comes from another site.
    const returned = await fetch(`${redirect}?code=c1&state=${searchParams.get('state')}`)
    expect([returned.status, returned.headers.get('refresh')]).toEqual([200, '0; url=/console/agents/ada'])
    expect(tokenRequests.map((form) => [form.get('code'), form.get('client_id')])).toEqual([['c1', 'console']])
    expect((await (await chat('ada')).send('hello')).text).toBe('hi')
  })

  it('lists every violation of a card that cannot be used', async () => {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json')
      response.end(
        JSON.stringify({ name: 7, description: 'x', version: 1, supportedInterfaces: [{ url: 9 }], skills: {} }),
      )
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    onTestFinished(() => void server.close())
    const { operator } = await openRelay(start, [])
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const error = await operator.connect({ url }).catch((failure) => failure)
    for (const member of ['name', 'version', 'skills', 'supportedInterfaces']) expect(error.message).toContain(member)
  })
})
