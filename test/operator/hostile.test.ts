import { request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { apiKey, basic, custom, hashApiKey, hashPassword } from '../../src/entries/auth.ts'
import { createOperatorClient, OperatorError } from '../../src/entries/operator.ts'
import type { ServeOptions } from '../../src/serve/options.ts'
import { shareCli } from '../support/processes/cli.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const { start: startCli } = shareCli()

const keys = async () => [
  { id: 'olga', hash: await hashApiKey('operator-key') },
  { id: 'vera', hash: await hashApiKey('viewer-key-1') },
]

async function start(options: ServeOptions = {}) {
  const { server } = await startTestServer(async (turn) => void (await turn.status('completed', 'Done')), {
    push: {},
    console: {
      auth: { schemes: { key: apiKey({ keys: await keys() }) } },
      roles: ({ id }) => (id === 'olga' ? 'operator' : 'viewer'),
    },
    ...options,
  })
  return { server, url: server.url, api: `${server.url}/console/api/v1` }
}

interface RawRequest {
  readonly method?: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Sends a request as it is: `fetch` normalises paths and sets the host. */
function raw(url: string, { method = 'GET', path, headers = {}, body }: RawRequest) {
  const { hostname, port } = new URL(url)
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    const sent = request({ hostname, port, method, path, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject).end(body)
  })
}

describe('a viewer', () => {
  it('is refused every operation that changes something', async () => {
    const { url } = await start()
    const viewer = createOperatorClient({ url: `${url}/console`, headers: { 'x-api-key': 'viewer-key-1' } })
    const task = { agent: 'test', taskId: 't' }
    const webhook = { ...task, id: 'w' }
    const wire = { agent: 'test', binding: 'JSONRPC', method: 'POST', url: '/', headers: {}, body: '{}' } as const
    const changes: Readonly<Record<string, () => Promise<unknown>>> = {
      cancelTasks: () => viewer.cancelTasks({ tasks: [task] }),
      answer: () => viewer.answer(task, { parts: [{ text: 'x' }] }),
      credentials: () => viewer.answer(task, { credentials: { secret: 'x' } }),
      doctor: () => viewer.doctor('test').next(),
      conformance: () => viewer.conformance('test').next(),
      sendWire: () => viewer.sendWire(wire).next(),
      pauseWebhook: () => viewer.pauseWebhook(webhook),
      resumeWebhook: () => viewer.resumeWebhook(webhook),
      redeliver: () => viewer.redeliver(webhook),
      createReceiver: () => viewer.createReceiver(),
    }
    const statuses = await Promise.all(
      Object.entries(changes).map(async ([name, change]) => {
        const error: unknown = await change().catch((reason: unknown) => reason)
        return [name, error instanceof OperatorError ? error.status : error]
      }),
    )
    expect(statuses).toEqual(Object.keys(changes).map((name) => [name, 403]))
  })

  it('is refused every change over A2A, in every binding', async () => {
    const { url } = await start()
    const headers = { 'x-api-key': 'viewer-key-1', 'content-type': 'application/json', 'a2a-version': '1.0' }
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    const post = async (path: string, body: object, method = 'POST') => {
      const init = { method, headers, ...(method === 'POST' && { body: JSON.stringify(body) }) }
      return await (await fetch(`${url}/console/a2a/test${path}`, init)).text()
    }
    const call = (method: string, params: object) => post('/', { jsonrpc: '2.0', id: 1, method, params })
    const config = { taskId: 't', url: 'https://hook.example' }
    const answers = [
      await call('CreateTaskPushNotificationConfig', config),
      await call('DeleteTaskPushNotificationConfig', { taskId: 't', id: 'c' }),
      await post('/message:send', { message }),
      await post('/message:stream', { message }),
      await post('/tasks/t:cancel', {}),
      await post('/tasks/t/pushNotificationConfigs', config),
      await post('/tasks/t/pushNotificationConfigs/c', {}, 'DELETE'),
    ]
    for (const answer of answers) expect(answer).toContain('Viewers can read')
  })

  it('who was an operator a moment ago cannot act any more', async () => {
    let role: 'operator' | 'viewer' | undefined = 'operator'
    const { url } = await start({
      console: { auth: { schemes: { key: apiKey({ keys: await keys() }) } }, roles: () => role },
    })
    const login = await fetch(`${url}/console/api/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-parley-console': '1' },
      body: JSON.stringify({ scheme: 'key', secret: 'operator-key' }),
    })
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
    const operator = createOperatorClient({ url: `${url}/console`, headers: { cookie } })
    expect((await operator.cancelTasks({ tasks: [] })).results).toEqual([])
    role = 'viewer'
    await expect(operator.cancelTasks({ tasks: [] })).rejects.toMatchObject({ status: 403 })
    expect((await operator.tasks()).tasks).toEqual([])
    role = undefined
    await expect(operator.tasks()).rejects.toMatchObject({ status: 403 })
  })
})

describe('a page of another origin', () => {
  it.each([
    ['with an origin', { origin: 'https://evil.example' }],
    ['with an origin on another port', { origin: 'http://127.0.0.1:1' }],
    ['with an origin that is opaque', { origin: 'null' }],
    ['that the browser marks as cross-site', { 'sec-fetch-site': 'cross-site' }],
    ['that the browser marks as of another subdomain', { 'sec-fetch-site': 'same-site' }],
  ])('%s can neither use the API nor the agents of an open console', async (_name, headers) => {
    const { url, api } = await start({ console: { auth: 'none' } })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: {} })
    const sent = { ...headers, 'content-type': 'text/plain', 'x-parley-console': '1' } as Record<string, string>
    for (const path of ['/console/a2a/test/', '/console/api/v1/tasks/cancel', '/console/api/v1/session']) {
      expect([path, (await fetch(`${url}${path}`, { method: 'POST', headers: sent, body })).status]).toEqual([
        path,
        403,
      ])
    }
    const operator = createOperatorClient({ url: `${url}/console` })
    expect((await operator.tasks()).total).toBe(0)
    expect((await fetch(`${api}/receivers`, { method: 'POST', headers })).status).toBe(403)
  })

  it('cannot reach an open console under another name of this machine', async () => {
    const { url } = await start({ console: { auth: 'none' } })
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', '[::1].evil.example']) {
      for (const path of ['/console/', '/console/api/v1/tasks', '/console/a2a/test/']) {
        expect([host, path, (await raw(url, { path, headers: { host } })).status]).toEqual([host, path, 403])
      }
    }
  })
})

describe('guessing', () => {
  const guess = async (api: string, headers: Record<string, string>) =>
    (await fetch(`${api}/agents`, { headers })).status

  it('keys in headers is slowed down like guessing them in the form', async () => {
    const { api } = await start()
    const statuses: number[] = []
    for (let at = 0; at < 6; at++) statuses.push(await guess(api, { 'x-api-key': `guess-${at}` }))
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
    const login = await fetch(`${api}/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-parley-console': '1' },
      body: JSON.stringify({ scheme: 'key', secret: 'operator-key' }),
    })
    // A right key is not locked out by the guesses of others at the same address.
    expect(login.status).toBe(200)
    expect(await guess(api, { 'x-api-key': 'operator-key' })).toBe(200)
    expect(await guess(api, { 'x-api-key': 'guess' })).toBe(429)
  })

  it('tokens and passwords is slowed down, and requests without credentials are not', async () => {
    const users = { otto: { password: await hashPassword('secret') } }
    const token = custom({
      card: { type: 'http', scheme: 'bearer' },
      authenticate({ header }) {
        const text = header('authorization') ?? ''
        return text.startsWith('Bearer ') ? text === 'Bearer right' && { id: 'tara' } : undefined
      },
    })
    const { api } = await start({ console: { auth: { schemes: { token, password: basic({ users }) } } } })
    expect(await guess(api, { authorization: 'Bearer right' })).toBe(200)
    for (let at = 0; at < 10; at++) expect(await guess(api, {})).toBe(401)
    for (let at = 0; at < 5; at++) await guess(api, { authorization: `Bearer guess-${at}` })
    expect(await guess(api, { authorization: 'Bearer guess' })).toBe(429)
    // Credentials that were right before are not slowed down by the guesses of others.
    expect(await guess(api, { authorization: 'Bearer right' })).toBe(200)
    const password = (text: string) => ({ authorization: `Basic ${btoa(`otto:${text}`)}` })
    const statuses: number[] = []
    for (let at = 0; at < 8; at++) statuses.push(await guess(api, password(`guess-${at}`)))
    expect(statuses).toContain(429)
  })
})

describe('requests that are not as the console sends them', () => {
  it('paths outside of the console show none of its files', async () => {
    const { url } = await start({ console: { auth: 'none' } })
    const paths = [
      '/console/../../../../../etc/passwd',
      '/console/..%2f..%2f..%2f..%2fetc%2fpasswd',
      '/console/%2e%2e/%2e%2e/package.json',
      '/console/assets/..%5c..%5cpackage.json',
      '/console/assets/%00/../../package.json',
      '/console//etc/passwd',
    ]
    for (const path of paths) {
      const { text } = await raw(url, { path })
      expect([path, /root:|"name": "parley-a2a"/.test(text)]).toEqual([path, false])
    }
  })

  it('bodies beyond the limits are refused before they are read', async () => {
    const { url } = await start()
    const headers = { 'content-type': 'application/json', 'x-parley-console': '1' }
    const post = (path: string, length: number, more = {}) =>
      raw(url, {
        ...{ method: 'POST', path: `/console/api/v1${path}`, body: '{}' },
        headers: { ...headers, ...more, 'content-length': `${length}` },
      }).catch(({ code }) => ({ status: code as string }))
    expect((await post('/session', 70_000)).status).toBe(413)
    expect((await post('/tasks/cancel', 2 ** 30, { 'x-api-key': 'operator-key' })).status).toBe(413)
    expect((await post('/tasks/cancel', 2 ** 30)).status).toBe(401)
  })

  it('a session over TLS has a cookie that only TLS carries', async () => {
    const { api } = await start({ trustProxy: true, auth: 'none' })
    const login = await fetch(`${api}/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-parley-console': '1', 'x-forwarded-proto': 'https' },
      body: JSON.stringify({ scheme: 'key', secret: 'operator-key' }),
    })
    const cookie = login.headers.get('set-cookie') ?? ''
    for (const flag of ['Secure', 'HttpOnly', 'SameSite=Strict', 'Path=/console']) expect(cookie).toContain(flag)
  })
})

it('the relay of `parley console` answers neither other names of this machine nor other pages', async () => {
  const { url } = await start({ console: false })
  const relay = startCli(['console', url, '-o', 'json'])
  const [, address = ''] = await relay.until(/"url":"([^"]+)"/)
  const { origin, pathname, search } = new URL(address)
  const path = `${pathname}${search}`
  expect((await raw(origin, { path, headers: { host: 'evil.example' } })).status).toBe(403)
  const opened = await fetch(address, { redirect: 'manual' })
  const cookie = (opened.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  expect(cookie).not.toBe('')
  const api = '/console/api/v1/agents'
  expect((await raw(origin, { path: api, headers: { cookie, host: 'evil.example' } })).status).toBe(403)
  expect((await raw(origin, { path: api, headers: { cookie } })).status).toBe(200)
  const sent = { cookie, origin: 'https://evil.example', 'content-type': 'application/json' }
  const a2a = { method: 'POST', path: '/console/a2a/test/', headers: sent, body: '{}' }
  expect((await raw(origin, a2a)).status).toBe(403)
  relay.child.kill('SIGTERM')
  await relay.result
})
