import { request } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { describe, expect, it } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import { createHandler } from '../../../src/core/server/handler.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import { apiKey, hashApiKey } from '../../../src/entries/auth.ts'
import { grpcClient } from '../../support/grpc/grpc-client.ts'
import { silentLogger } from '../../support/logger.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
const json = { 'content-type': 'application/json', 'a2a-version': '1.0' }

/** What a page can reach: method, path, body, and headers besides Host and Origin. */
const requests: readonly (readonly [string, string, object?])[] = [
  ['POST', '/', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }],
  ['POST', '/', { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } }],
  ['POST', '/api/a2a', { jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }],
  ['POST', '/message:send', { message }],
  ['POST', '/message:stream', { message }],
  ['GET', '/tasks'],
  ['GET', '/.well-known/agent-card.json'],
  ['GET', '/.well-known/agent.json'],
  ['GET', '/healthz'],
  ['GET', '/metrics'],
]

/** Sends what a browser would send, with any Host and Origin, and returns the status. */
function statusOf(port: number, [method, path, body]: (typeof requests)[number], headers: object): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, method, path, headers: { ...json, ...headers } }
    request(options, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
      .on('error', reject)
      .end(body && JSON.stringify(body))
  })
}

async function start(options: TestServerOptions = {}) {
  let turns = 0
  const { server } = await startTestServer(() => `turn ${++turns}`, { metrics: true, grpc: true, ...options })
  const { port } = server
  const all = (headers: object) => Promise.all(requests.map((each) => statusOf(port, each, headers)))
  return { server, port, all, turns: () => turns }
}

const refused = requests.map(() => 403)
const served = requests.map(() => 200)

describe('a server on loopback without auth', () => {
  it('requests for a host that is not this machine are refused everywhere, and no agent runs', async () => {
    const { port, all, turns } = await start()
    const hosts = [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      '10.0.0.1',
    ]
    for (const host of [...hosts, '0.0.0.0', 'evil.example@localhost', 'localhost,evil.example']) {
      expect(await all({ host }), host).toEqual(refused)
    }
    expect(turns()).toBe(0)
  })

  it('requests for every name of this machine are served', async () => {
    const { port, all } = await start()
    for (const host of ['127.0.0.1', 'localhost', 'LocalHost', 'localhost.', 'app.localhost', '[::1]', '127.1.2.3']) {
      expect(await all({ host: `${host}:${port}` }), host).toEqual(served)
    }
  })

  it('requests from pages of other origins are refused unless cors allows the origin', async () => {
    const { all, turns } = await start()
    const others = ['https://evil.example', 'http://evil.example', 'null', 'https://127.0.0.1.evil.example']
    for (const origin of [...others, 'chrome-extension://abc', ''])
      expect(await all({ origin }), origin).toEqual(refused)
    expect(turns()).toBe(0)
    for (const origin of ['http://localhost:3000', 'http://127.0.0.1']) expect(await all({ origin })).toEqual(served)
    const allowing = await start({ cors: 'https://app.example' })
    expect(await allowing.all({ origin: 'https://app.example' })).toEqual(served)
    expect(await allowing.all({ origin: 'https://evil.example' })).toEqual(refused)
    expect(await allowing.all({ origin: 'https://app.example', host: 'evil.example' })).toEqual(refused)
    expect(await (await start({ cors: true })).all({ origin: 'null' })).toEqual(served)
  })

  it('a preflight for another host is refused although cors allows the origin', async () => {
    const { port } = await start({ cors: true })
    const headers = { origin: 'http://evil.example', 'access-control-request-method': 'POST' }
    expect(await statusOf(port, ['OPTIONS', '/'], { ...headers, host: 'evil.example' })).toBe(403)
    expect(await statusOf(port, ['OPTIONS', '/'], headers)).toBe(204)
  })

  it.each(['lf.a2a.v1.A2AService/SendMessage', 'a2a.v1.A2AService/SendMessage', 'grpc.health.v1.Health/Check'])(
    'gRPC calls of %s with another authority get PERMISSION_DENIED',
    async (method) => {
      const { port, turns } = await start()
      const params = method.startsWith('a2a') ? { request: { ...message, content: message.parts } } : { message }
      const call = (authority: string) =>
        grpcClient(port, { 'grpc.default_authority': authority }).unary(method, /Health/.test(method) ? {} : params)
      await expect(call('evil.example')).rejects.toMatchObject({ code: 7 })
      expect(turns()).toBe(0)
      await call(`localhost:${port}`)
    },
  )

  it('a Host header does not hide the authority of an HTTP/2 request', async () => {
    const { port } = await start()
    const session = connectHttp2(`http://127.0.0.1:${port}`)
    const stream = session.request({ ':path': '/tasks', ':authority': 'evil.example', host: 'localhost', ...json })
    const status = await new Promise((resolve, reject) => {
      stream.on('response', ({ ':status': code }) => resolve(code)).on('error', reject)
    })
    session.destroy()
    expect(status).toBe(403)
  })

  it('configured names are served: the host of publicUrl, of a mount, and http.hosts', async () => {
    const { all, port, server } = await start({
      publicUrl: 'https://agents.example.com/x',
      http: { hosts: ['Proxy.internal'] },
    })
    server.add(
      agent({ name: 'Other' }, () => 'other'),
      { hostname: 'other.test', log: createMemoryLog() },
    )
    const card: (typeof requests)[number] = ['GET', '/.well-known/agent-card.json']
    expect(await all({ host: 'agents.example.com' })).not.toContain(403)
    expect(await all({ host: 'proxy.internal:80', origin: 'https://proxy.internal' })).not.toContain(403)
    expect(await statusOf(port, card, { host: 'other.test' })).toBe(200)
    expect(await statusOf(port, card, { host: 'another.test' })).toBe(403)
    expect(await (await start({ http: { hosts: 'any' } })).all({ host: 'evil.example' })).toEqual(served)
  })

  it('mesh peers without signatures are refused for another host', async () => {
    const { port } = await start({ mesh: { requireAuth: false } })
    const envelope: (typeof requests)[number] = ['POST', '/mesh', {}]
    expect(await statusOf(port, envelope, { host: 'evil.example' })).toBe(403)
    expect(await statusOf(port, envelope, { origin: 'https://evil.example' })).toBe(403)
    expect(await statusOf(port, envelope, {})).not.toBe(403)
  })
})

describe('a server that requires credentials', () => {
  it('requests for any host are answered, unless callers without credentials are accepted too', async () => {
    const schemes = { key: apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('ada') }] }) }
    const headers = { host: 'agents.example.com', origin: 'https://app.example', 'x-api-key': 'ada' }
    expect(await (await start({ auth: { schemes } })).all(headers)).toEqual(served)
    expect(await (await start({ auth: { schemes, anonymous: true } })).all(headers)).toEqual(refused)
  })

  it('a list of hosts applies to every server and handler', async () => {
    const schemes = { key: apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('ada') }] }) }
    const http = { hosts: ['agents.example.com'] }
    const { all } = await start({ auth: { schemes }, host: '0.0.0.0', http })
    expect(await all({ host: 'evil.example', 'x-api-key': 'ada' })).toEqual(refused)
    expect(await all({ host: 'agents.example.com', 'x-api-key': 'ada' })).toEqual(served)
    const handler = createHandler(
      agent({ name: 'Test' }, () => 'hi'),
      { auth: 'none', http, logger: silentLogger },
    )
    const statusAt = async (url: string) => (await handler.fetch(new Request(url))).status
    expect(await statusAt('https://evil.example/.well-known/agent-card.json')).toBe(403)
    expect(await statusAt('https://agents.example.com/.well-known/agent-card.json')).toBe(200)
    await handler.drain(0)
  })

  it('a host with a scheme or a port is a wrong option', async () => {
    await expect(start({ http: { hosts: ['https://agents.example.com'] } })).rejects.toThrow('without scheme and port')
  })
})
