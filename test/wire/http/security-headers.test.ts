import { connect as connectHttp2 } from 'node:http2'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createKeyRing, newSigningKey } from '../../../src/core/auth/key-ring.ts'
import { securityHeaders } from '../../../src/core/http/exchange.ts'
import { apiKey, hashApiKey } from '../../../src/entries/auth.ts'
import { countingAgent } from '../../contracts/service/contract.ts'
import { createLocalHandler } from '../../support/servers/local-handler.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'
import { exchangeBytes } from '../../support/wire/raw-http1.ts'

const json = { 'content-type': 'application/json', 'a2a-version': '1.0' }
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'count' }] }
const rpc = (method: string) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { message } })
const posted = (body: string) => ({ method: 'POST', headers: json, body })

/** Requests of every kind: name, path, request, status and `Cache-Control`. */
const requests: readonly (readonly [string, string, RequestInit, number, string])[] = [
  ['the card', '/.well-known/agent-card.json', {}, 200, 'public, max-age=300'],
  ['the legacy card', '/.well-known/agent.json', {}, 200, 'public, max-age=300'],
  ['the keys', '/.well-known/jwks.json', {}, 200, 'public, max-age=300'],
  ['the extended card', '/agent/authenticatedExtendedCard', {}, 404, 'no-store'],
  ['health', '/healthz', {}, 200, 'no-store'],
  ['GET on the JSON-RPC path', '/', {}, 405, 'no-store'],
  ['JSON-RPC', '/', posted(rpc('SendMessage')), 200, 'no-store'],
  ['invalid JSON-RPC', '/', posted('{'), 200, 'no-store'],
  ['a form sent to JSON-RPC', '/', { method: 'POST', body: new URLSearchParams({ a: 'b' }) }, 415, 'no-store'],
  ['a JSON-RPC stream', '/', posted(rpc('SendStreamingMessage')), 200, 'no-cache, no-transform'],
  ['REST', '/message:send', posted(JSON.stringify({ message })), 200, 'no-store'],
  ['a REST stream', '/message:stream', posted(JSON.stringify({ message })), 200, 'no-cache, no-transform'],
  ['an unknown task', '/tasks/none', { headers: json }, 404, 'no-store'],
  ['an unknown path', '/nothing/here', {}, 404, 'no-store'],
  ['POST on a read-only path', '/healthz', { method: 'POST' }, 405, 'no-store'],
]

/** A request that no link, form, frame or tag of a page can cause. */
const isCall = ({ method, headers }: RequestInit) => method === 'POST' && headers === json

const { 'cache-control': _, ...others } = securityHeaders

/** Expects all security headers and this `Cache-Control`. */
function expectSafe(header: (name: string) => string | null | undefined, kept: string): void {
  for (const [name, value] of Object.entries(others)) expect([name, header(name)]).toEqual([name, value])
  expect(header('cache-control')).toBe(kept)
}

async function open(options: TestServerOptions = {}) {
  return await startTestServer(countingAgent, { keys: createKeyRing(await newSigningKey()), grpc: true, ...options })
}

it('the policy forbids loading, framing and content sniffing', () => {
  expect(securityHeaders['content-security-policy']).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
  expect(securityHeaders['x-content-type-options']).toBe('nosniff')
})

describe('security headers', () => {
  it.each(requests)('the response has security headers: %s', async (_name, path, init, status, kept) => {
    const { server } = await open()
    const response = await fetch(`${server.url}${path}`, init)
    await response.text()
    expect(response.status).toBe(status)
    if (!isCall(init)) return expectSafe((name) => response.headers.get(name), kept)
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    // A page cannot cause this request, and caches store no response to a POST unless it allows that.
    expect(response.headers.get('cache-control')).toBe(kept === 'no-store' ? null : kept)
  })

  it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', ''])(
    'the response to a form of type %j has security headers',
    async (type) => {
      const { server } = await open()
      for (const path of ['/', '/message:send', '/message:stream']) {
        const body = new Uint8Array(Buffer.from(rpc('SendMessage')))
        const headers = { ...(type && { 'content-type': type }), 'a2a-version': '1.0' }
        const response = await fetch(`${server.url}${path}`, { method: 'POST', headers, body })
        expect(response.status).toBeGreaterThanOrEqual(400)
        expectSafe((name) => response.headers.get(name), 'no-store')
      }
    },
  )

  it('responses to other origins have security headers, preflights included', async () => {
    const { server } = await open({ cors: 'https://app.example.com' })
    for (const headers of [{ origin: 'https://app.example.com' }, { origin: 'https://evil.example.com' }]) {
      const asked = { ...headers, 'access-control-request-method': 'POST' }
      const preflight = await fetch(server.url, { method: 'OPTIONS', headers: asked })
      expectSafe((name) => preflight.headers.get(name), 'no-store')
      const answer = await fetch(`${server.url}/healthz`, { headers })
      expectSafe((name) => answer.headers.get(name), 'no-store')
    }
  })

  it('401 and 304 responses have security headers', async () => {
    const key = apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('ada-key') }] })
    const { server } = await open({ auth: { schemes: { key } } })
    const refused = await fetch(`${server.url}/tasks`, { headers: { 'a2a-version': '1.0' } })
    expect(refused.status).toBe(401)
    expectSafe((name) => refused.headers.get(name), 'no-store')
    const etag = (await fetch(server.cardUrl)).headers.get('etag') ?? ''
    const same = await fetch(server.cardUrl, { headers: { 'if-none-match': etag } })
    expect(same.status).toBe(304)
    expectSafe((name) => same.headers.get(name), 'public, max-age=300')
  })

  it('responses to malformed HTTP have security headers', async () => {
    const { server } = await open()
    for (const text of ['garbage\r\n\r\n', 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n']) {
      const { status, head } = await exchangeBytes(server.port, [text])
      expect(status).toBe(400)
      expectSafe((name) => new RegExp(`^${name}: (.*?)\\r?$`, 'm').exec(head)?.[1], 'no-store')
    }
  })

  it('responses over HTTP/2 have security headers', async () => {
    const { server } = await open()
    const session = connectHttp2(server.url)
    onTestFinished(() => session.destroy())
    for (const [path, kept] of [
      ['/healthz', 'no-store'],
      ['/.well-known/agent-card.json', 'public, max-age=300'],
    ] as const) {
      const headers = await new Promise<Readonly<Record<string, unknown>>>((resolve) => {
        session.request({ ':path': path }).on('response', resolve).resume()
      })
      expectSafe((name) => headers[name] as string, kept)
    }
  })

  it('responses of a handler without a port have security headers', async () => {
    const { fetch: ask } = createLocalHandler(async () => 'hi')
    const response = await ask(new Request('http://agent.test/healthz'))
    expectSafe((name) => response.headers.get(name), 'no-store')
  })
})
