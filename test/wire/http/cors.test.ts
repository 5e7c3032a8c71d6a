import { describe, expect, it } from 'vitest'
import { apiKey, hashApiKey } from '../../../src/entries/auth.ts'
import { countingAgent } from '../../contracts/service/contract.ts'
import { startTestServer } from '../../support/servers/test-server.ts'

const origin = 'https://app.example.com'
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'count' }] }
const json = { 'content-type': 'application/json', 'a2a-version': '1.0' }
const rpc = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })

const requests: readonly (readonly [string, string, RequestInit, number])[] = [
  ['the card', '/.well-known/agent-card.json', {}, 200],
  ['the legacy card', '/.well-known/agent.json', {}, 200],
  ['health', '/healthz', {}, 200],
  ['JSON-RPC', '/', { method: 'POST', headers: json, body: rpc('SendMessage', { message }) }, 200],
  ['invalid JSON-RPC', '/', { method: 'POST', headers: json, body: '{' }, 200],
  ['JSON-RPC as a stream', '/', { method: 'POST', headers: json, body: rpc('SendStreamingMessage', { message }) }, 200],
  ['REST', '/message:send', { method: 'POST', headers: json, body: JSON.stringify({ message }) }, 200],
  ['REST as a stream', '/message:stream', { method: 'POST', headers: json, body: JSON.stringify({ message }) }, 200],
  ['an unknown task', '/tasks/none', { headers: { 'a2a-version': '1.0' } }, 404],
  ['an unknown path', '/nothing/here', {}, 404],
]

describe('a page from another origin', () => {
  it.each(requests)('a page may read the response of %s if its origin is allowed', async (_, path, init, status) => {
    const { server } = await startTestServer(countingAgent, { cors: origin })
    const response = await fetch(`${server.url}${path}`, { ...init, headers: { ...init.headers, origin } })
    await response.text()
    expect(response.status).toBe(status)
    expect(response.headers.get('access-control-allow-origin')).toBe(origin)
    expect(response.headers.get('access-control-expose-headers')).toContain('ETag')
    expect(response.headers.get('vary')).toMatch(/Origin$/)
  })

  it.each(requests)('a page may not read the response of %s by default', async (_, path, init) => {
    const { server } = await startTestServer(countingAgent)
    const response = await fetch(`${server.url}${path}`, { ...init, headers: { ...init.headers, origin } })
    await response.text()
    expect(response.headers.get('access-control-allow-origin')).toBeNull()
  })

  it('a preflight succeeds on every path', async () => {
    const { server } = await startTestServer(countingAgent, { cors: true })
    for (const [, path] of requests) {
      const headers = { origin, 'access-control-request-method': 'POST' }
      const response = await fetch(`${server.url}${path}`, { method: 'OPTIONS', headers })
      expect(response.status).toBe(204)
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(await response.text()).toBe('')
    }
  })

  it('a page may read that a card has not changed', async () => {
    const { server } = await startTestServer(countingAgent, { cors: origin })
    const first = await fetch(server.cardUrl, { headers: { origin } })
    const etag = first.headers.get('etag') ?? ''
    const second = await fetch(server.cardUrl, { headers: { origin, 'if-none-match': etag } })
    expect(second.status).toBe(304)
    expect(second.headers.get('access-control-allow-origin')).toBe(origin)
  })

  it('a page may read the headers of 401 and 429 responses', async () => {
    const key = apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('k') }] })
    const { server } = await startTestServer(countingAgent, {
      cors: { origins: origin, credentials: true },
      auth: { schemes: { key } },
      limits: { perPrincipal: { requests: { limit: 1, per: 600_000 } } },
    })
    const post = (headers: Readonly<Record<string, string>>, path = '/', method = 'SendMessage') =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { ...json, origin, ...headers },
        body: path === '/' ? rpc(method, { message }) : JSON.stringify({ message }),
      })
    const exposedHeaders = (response: Response, ...names: string[]) => {
      const exposed = response.headers.get('access-control-expose-headers')?.toLowerCase().split(', ') ?? []
      return {
        status: response.status,
        origin: response.headers.get('access-control-allow-origin'),
        credentials: response.headers.get('access-control-allow-credentials'),
        missing: names.filter((name) => !exposed.includes(name) || !response.headers.has(name)),
      }
    }
    const readable = { origin, credentials: 'true', missing: [] }
    for (const [path, method] of [
      ['/', 'SendMessage'],
      ['/', 'SendStreamingMessage'],
      ['/message:send', ''],
      ['/message:stream', ''],
    ] as const) {
      expect(exposedHeaders(await post({}, path, method), 'www-authenticate')).toEqual({ status: 401, ...readable })
    }
    const rates = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit', 'ratelimit-policy']
    expect(exposedHeaders(await post({ 'x-api-key': 'k' }), ...rates)).toEqual({ status: 200, ...readable })
    expect(exposedHeaders(await post({ 'x-api-key': 'k' }), 'retry-after', ...rates)).toEqual({
      status: 429,
      ...readable,
    })
  })

  it('a preflight needs no credentials and is rejected for other origins', async () => {
    const key = apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('k') }] })
    const { server } = await startTestServer(countingAgent, {
      cors: { origins: origin, credentials: true },
      auth: { schemes: { key } },
    })
    const requestHeaders =
      'a2a-extensions,a2a-version,authorization,content-type,idempotency-key,last-event-id,x-api-key'
    for (const path of ['/', '/message:stream', '/tasks/t:subscribe', '/tasks/t/pushNotificationConfigs/p']) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const preflight = (from: string) =>
          fetch(`${server.url}${path}`, {
            method: 'OPTIONS',
            headers: {
              origin: from,
              'access-control-request-method': method,
              'access-control-request-headers': requestHeaders,
            },
          })
        const allowed = await preflight(origin)
        expect(allowed.status).toBe(204)
        expect(allowed.headers.get('access-control-allow-headers')).toBe(requestHeaders)
        expect(allowed.headers.get('access-control-allow-methods')).toContain(method)
        expect(allowed.headers.get('access-control-allow-credentials')).toBe('true')
        const other = await preflight('https://evil.example.com')
        expect(other.status).toBe(403)
        expect(other.headers.get('access-control-allow-origin')).toBeNull()
      }
    }
  })
})
