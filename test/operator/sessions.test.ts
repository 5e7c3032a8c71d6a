import { describe, expect, it } from 'vitest'
import { apiKey, basic, hashApiKey, hashPassword } from '../../src/entries/auth.ts'
import { connect } from '../../src/entries/client.node.ts'
import { createOperatorClient } from '../../src/entries/operator.ts'
import { echo } from '../support/agents/echo-agent.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'

const headers = { 'content-type': 'application/json', 'x-parley-console': '1' }

async function startProtected(options: TestServerOptions = {}) {
  const keys = [
    { id: 'olga', hash: await hashApiKey('operator-key'), scopes: ['operate'] },
    { id: 'vera', hash: await hashApiKey('viewer-key'), scopes: ['view'] },
    { id: 'nina', hash: await hashApiKey('no-role-key') },
  ]
  const users = { otto: { password: await hashPassword('secret'), scopes: ['operate'] } }
  const { server } = await startTestServer(echo.run, {
    console: {
      auth: { schemes: { key: apiKey({ keys }), password: basic({ users }) } },
      roles: ({ scopes = [] }) =>
        scopes.includes('operate') ? 'operator' : scopes.includes('view') ? 'viewer' : undefined,
    },
    ...options,
  })
  const api = `${server.url}/console/api/v1`
  const login = (body: object, extra: Record<string, string> = {}) =>
    fetch(`${api}/session`, { method: 'POST', headers: { ...headers, ...extra }, body: JSON.stringify(body) })
  const cookieFor = async (secret: string) => {
    const response = await login({ scheme: 'key', secret })
    expect(response.status).toBe(200)
    return (response.headers.get('set-cookie') ?? '').split(';')[0] ?? ''
  }
  return { server, api, login, cookieFor }
}

describe('logging in', () => {
  it('without credentials, the API says how to log in', async () => {
    const { api } = await startProtected()
    for (const path of ['/session', '/agents', '/nothing']) {
      const response = await fetch(`${api}${path}`)
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({
        error: {
          code: 'unauthenticated',
          schemes: [
            { name: 'key', fields: 'secret' },
            { name: 'password', fields: 'password' },
          ],
        },
      })
    }
  })

  it('a login begins a session in a strict cookie, and a logout ends it for good', async () => {
    const { api, login } = await startProtected()
    const response = await login({ scheme: 'password', user: 'otto', secret: 'secret' })
    expect(await response.json()).toMatchObject({
      role: 'operator',
      principal: { id: 'otto' },
      expires: expect.any(Number),
    })
    const cookie = response.headers.get('set-cookie') ?? ''
    for (const flag of ['HttpOnly', 'SameSite=Strict', 'Path=/console', 'Max-Age=']) expect(cookie).toContain(flag)
    expect(cookie).not.toContain('Secure')
    const [pair = ''] = cookie.split(';')
    const read = () => fetch(`${api}/agents`, { headers: { cookie: pair } })
    expect((await read()).status).toBe(200)
    const ended = await fetch(`${api}/session`, { method: 'DELETE', headers: { ...headers, cookie: pair } })
    expect([ended.status, ended.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('Max-Age=0')])
    expect((await read()).status).toBe(401)
  })

  it('wrong credentials are refused, and guessing is slowed down', async () => {
    const { login } = await startProtected()
    const statuses: number[] = []
    for (let at = 0; at < 6; at++) statuses.push((await login({ scheme: 'key', secret: `guess-${at}` })).status)
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429])
  })

  it.each([
    [{ scheme: 'unknown', secret: 'x' }, 400],
    [{ scheme: '__proto__', secret: 'x' }, 400],
    [{ secret: 'x' }, 400],
    [{ scheme: 'key', secret: 17 }, 400],
    [{ scheme: 'key', secret: 'x'.repeat(20_000) }, 400],
    [{ scheme: 'key', secret: 'no-role-key' }, 403],
    [{ scheme: 'password', user: 'otto', secret: 'wrong' }, 401],
    [{ scheme: 'key' }, 401],
  ])('login number %# is answered with an error', async (body, status) => {
    const { login } = await startProtected()
    const response = await login(body)
    expect([response.status, response.headers.get('set-cookie')]).toEqual([status, null])
    expect(await response.text()).not.toContain('x'.repeat(200))
  })

  it('a session lasts as long as the option says', async () => {
    const { api, login } = await startProtected({
      console: {
        auth: { schemes: { key: apiKey({ keys: [{ id: 'o', hash: await hashApiKey('operator-key') }] }) } },
        sessionLifetime: 1_000,
      },
    })
    const response = await login({ scheme: 'key', secret: 'operator-key' })
    const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    expect((await fetch(`${api}/session`, { headers: { cookie } })).status).toBe(401)
  })

  it('a stream ends with its session', async () => {
    const { api, login } = await startProtected({
      console: {
        auth: { schemes: { key: apiKey({ keys: [{ id: 'o', hash: await hashApiKey('operator-key') }] }) } },
        sessionLifetime: 1_000,
      },
    })
    const response = await login({ scheme: 'key', secret: 'operator-key' })
    const [cookie = ''] = (response.headers.get('set-cookie') ?? '').split(';')
    const stream = await fetch(`${api}/tasks/changes`, { headers: { cookie } })
    expect(stream.status).toBe(200)
    expect(await stream.text()).toBe('')
  })

  it('an operator has at most 50 open streams, whatever the others have', async () => {
    const { api } = await startProtected()
    const abort = new AbortController()
    const open = (key = 'viewer-key') =>
      fetch(`${api}/tasks/changes`, { headers: { 'x-api-key': key }, signal: abort.signal })
    const streams = await Promise.all(Array.from({ length: 50 }, () => open()))
    expect(streams.every(({ status }) => status === 200)).toBe(true)
    const refused = await open()
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    expect((await open('operator-key')).status).toBe(200)
    abort.abort()
    await expect
      .poll(async () => {
        const again = new AbortController()
        const { status } = await fetch(`${api}/tasks/changes`, {
          headers: { 'x-api-key': 'viewer-key' },
          signal: again.signal,
        })
        again.abort()
        return status
      })
      .toBe(200)
  })

  it('credentials in headers work without a session', async () => {
    const { server, api } = await startProtected()
    expect((await fetch(`${api}/agents`, { headers: { 'x-api-key': 'operator-key' } })).status).toBe(200)
    expect((await fetch(`${api}/agents`, { headers: { 'x-api-key': 'wrong' } })).status).toBe(401)
    const operator = createOperatorClient({ url: `${server.url}/console`, headers: { 'x-api-key': 'viewer-key' } })
    expect(await operator.session()).toMatchObject({ role: 'viewer', principal: { id: 'vera' } })
  })
})

describe('requests of other pages', () => {
  it.each([
    ['without the header of the console', { 'x-parley-console': '' }],
    ['from another origin', { ...headers, origin: 'https://evil.example' }],
    ['from another port of this machine', { ...headers, origin: 'http://localhost:1' }],
    ['from another site', { ...headers, 'sec-fetch-site': 'cross-site' }],
    ['from a sandboxed page', { ...headers, origin: 'null' }],
  ])('a change %s is refused', async (name, sent) => {
    const { api, cookieFor } = await startProtected()
    const cookie = await cookieFor('operator-key')
    const { 'x-parley-console': marker, ...rest } = sent as Record<string, string>
    const response = await fetch(`${api}/session`, {
      method: 'DELETE',
      headers: { ...rest, ...(marker && { 'x-parley-console': marker }), cookie },
    })
    expect([name, response.status]).toEqual([name, 403])
    expect((await fetch(`${api}/session`, { headers: { cookie } })).status).toBe(200)
  })

  it('no preflight request is answered', async () => {
    const { api } = await startProtected({ cors: true })
    const response = await fetch(`${api}/session`, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    })
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
    expect(response.status).toBeGreaterThanOrEqual(400)
  })
})

describe('A2A for the browser', () => {
  it('the public client calls the agent as the principal of the session', async () => {
    const { server, cookieFor } = await startProtected()
    const cookie = await cookieFor('operator-key')
    const target = `${server.url}/console/a2a/test`
    const withCookie: typeof fetch = (input, init) => fetch(input, { ...init, headers: { ...headersOf(init), cookie } })
    for (const version of ['1.0', '0.3'] as const) {
      const client = await connect(target, { fetch: withCookie as never })
      expect([version, client.card.name]).toEqual([version, 'Test'])
      const reply = await client.send('hello')
      expect(reply.text).toContain('hello')
    }
    const card = await (await withCookie(`${target}/.well-known/agent-card.json`)).json()
    expect(JSON.stringify(card)).toContain(`${target}/`)
    expect(card).not.toHaveProperty('securitySchemes')
    expect((await fetch(`${target}/.well-known/agent-card.json`)).status).toBe(401)
    expect((await withCookie(`${server.url}/console/a2a/unknown/`)).status).toBe(404)
    expect((await withCookie(`${server.url}/console/a2a/%zz/`)).status).toBe(400)
  })

  it('a viewer reads tasks, and cannot send messages', async () => {
    const { server, cookieFor } = await startProtected()
    const cookie = await cookieFor('viewer-key')
    const call = async (method: string, params: object) => {
      const response = await fetch(`${server.url}/console/a2a/test/`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'a2a-version': '1.0', cookie },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      return (await response.text()).replace(/^data: /, '')
    }
    const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] }
    expect(await call('SendMessage', { message })).toContain('Viewers can read')
    expect(await call('SendStreamingMessage', { message })).toContain('Viewers can read')
    expect(await call('CancelTask', { id: 'x' })).toContain('Viewers can read')
    expect(await call('ListTasks', {})).toContain('"tasks":[]')
  })
})

function headersOf(init: RequestInit | undefined): Record<string, string> {
  return Object.fromEntries(new Headers(init?.headers))
}
