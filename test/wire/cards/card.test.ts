import { describe, expect, it } from 'vitest'
import { startTestServer } from '../../support/servers/test-server.ts'
import { createWireClient } from '../../support/wire/wire-client.ts'

const say = async () => 'hello'
const cardPath = '/.well-known/agent-card.json'

interface Problem {
  readonly error: { readonly code: number; readonly status: string; readonly message: string }
}

interface Card {
  readonly supportedInterfaces: readonly { readonly url: string }[]
}

async function interfaceOf(response: Response): Promise<string | undefined> {
  const card = (await response.json()) as Card
  return card.supportedInterfaces[0]?.url
}

describe('the card', () => {
  it('the card contains the profile and the mounted interfaces', async () => {
    const { server } = await startTestServer(say, {
      profile: { name: 'Ada', description: 'Counts', version: '2.1.0', skills: [{ id: 'count', name: 'Counting' }] },
    })
    const response = await fetch(server.cardUrl)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    const card = (await response.json()) as Card
    expect(card.supportedInterfaces[0]).toEqual({
      url: `${server.url}/`,
      protocolBinding: 'JSONRPC',
      protocolVersion: '1.0',
    })
    expect(card).toMatchObject({
      name: 'Ada',
      description: 'Counts',
      version: '2.1.0',
      capabilities: { streaming: true, pushNotifications: false },
      defaultInputModes: ['text/plain', 'application/json'],
      defaultOutputModes: ['text/plain', 'application/json'],
      skills: [{ id: 'count', name: 'Counting', description: 'Counting', tags: ['count'] }],
    })
  })

  it('the URL in the card answers', async () => {
    const { server } = await startTestServer(say)
    const url = await interfaceOf(await fetch(server.cardUrl))
    expect((await createWireClient(`${url}`).send('hi')).message?.parts).toEqual([{ text: 'hello' }])
  })

  it('the URL in the card answers even if JSON-RPC is served at a path', async () => {
    const { server } = await startTestServer(say, { path: '/rpc' })
    const url = await interfaceOf(await fetch(server.cardUrl))
    expect(url).toBe(`${server.url}/rpc`)
    expect((await createWireClient(`${url}`).send('hi')).message?.parts).toEqual([{ text: 'hello' }])
  })

  it('the card is cacheable and is not sent again to a client that has it', async () => {
    const { server } = await startTestServer(say)
    const first = await fetch(server.cardUrl)
    const etag = first.headers.get('etag') ?? ''
    expect(etag).toMatch(/^"\w+"$/)
    expect(first.headers.get('cache-control')).toBe('public, max-age=300')

    for (const ifNoneMatch of [etag, `"other", W/${etag}`, '*']) {
      const again = await fetch(server.cardUrl, { headers: { 'if-none-match': ifNoneMatch } })
      expect({ ifNoneMatch, status: again.status, body: await again.text() }).toEqual({
        ifNoneMatch,
        status: 304,
        body: '',
      })
      expect(again.headers.get('etag')).toBe(etag)
      expect(again.headers.get('cache-control')).toBe('public, max-age=300')
    }
    expect((await fetch(server.cardUrl, { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  })

  it('HEAD returns the headers of GET without a body', async () => {
    const { server } = await startTestServer(say)
    const get = await fetch(server.cardUrl)
    const head = await fetch(server.cardUrl, { method: 'HEAD' })
    expect(head.status).toBe(200)
    for (const name of ['content-type', 'content-length', 'etag', 'cache-control']) {
      expect(head.headers.get(name)).toBe(get.headers.get(name))
    }
    expect(await head.text()).toBe('')
  })
})

describe('the URL in the card', () => {
  const forwarded = { forwarded: 'for=192.0.2.1;host=agents.example.com;proto=https' }

  it('the URL is publicUrl if it is set', async () => {
    const { server } = await startTestServer(say, { publicUrl: 'https://agents.example.com/echo/', trustProxy: true })
    const headers = { forwarded: 'host=evil.example;proto=http' }
    expect(await interfaceOf(await fetch(server.cardUrl, { headers }))).toBe('https://agents.example.com/echo/')
  })

  it('the URL comes from proxy headers if the proxy is trusted', async () => {
    const { server } = await startTestServer(say, { trustProxy: true })
    expect(await interfaceOf(await fetch(server.cardUrl, { headers: forwarded }))).toBe('https://agents.example.com/')
    const legacyHeaders = {
      'x-forwarded-host': 'agents.example.com',
      'x-forwarded-proto': 'https',
      'x-forwarded-prefix': '/echo',
    }
    expect(await interfaceOf(await fetch(server.cardUrl, { headers: legacyHeaders }))).toBe(
      'https://agents.example.com/echo/',
    )
  })

  it('the URL ignores proxy headers without trustProxy', async () => {
    const { server } = await startTestServer(say)
    expect(await interfaceOf(await fetch(server.cardUrl, { headers: forwarded }))).toBe(`${server.url}/`)
  })

  it('the URL never contains an invalid host', async () => {
    const { server } = await startTestServer(say, { trustProxy: true })
    const headers = { forwarded: 'host="evil.example/path?<script>"' }
    expect(await interfaceOf(await fetch(server.cardUrl, { headers }))).toBe(`${server.url}/`)
  })
})

describe('other paths', () => {
  it('healthz returns ok', async () => {
    const { server } = await startTestServer(say)
    const response = await fetch(`${server.url}/healthz`)
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ status: 'ok' })
  })

  it('GET on the JSON-RPC path returns 405 with instructions', async () => {
    const { server } = await startTestServer(say)
    const response = await fetch(server.url)
    expect(response.status).toBe(405)
    expect(response.headers.get('allow')).toBe('POST')
    const { error } = (await response.json()) as Problem
    expect(error).toMatchObject({ code: 405, status: 'UNIMPLEMENTED' })
    expect(error.message).toContain('POST JSON-RPC here.')
    expect(error.message).toContain(`the agent describes itself at ${cardPath}`)
  })

  it.each(['/rpc', '/rpc/'])('JSON-RPC at the path %s answers with and without a trailing slash', async (path) => {
    const { server } = await startTestServer(say, { path, dialects: { house: { path: '/house/a2a/' } } })
    for (const address of ['/rpc', '/rpc/', '/house/a2a', '/house/a2a/']) {
      const { message } = await createWireClient(`${server.url}${address}`).send('hi')
      expect(message?.parts).toEqual([{ text: 'hello' }])
      expect((await fetch(`${server.url}${address}`)).status).toBe(405)
    }
    expect((await fetch(`${server.url}/rpc//`, { method: 'POST', body: '{}' })).status).toBe(404)
    expect(await interfaceOf(await fetch(server.cardUrl))).toBe(`${server.url}${path}`)
  })

  it('an unsupported method on a task path returns 405 with the allowed ones', async () => {
    const { server } = await startTestServer(say)
    const response = await fetch(`${server.url}/tasks`, { method: 'DELETE' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET'])
    expect(await response.json()).toMatchObject({
      error: { code: 405, message: 'Method not found: This path takes GET, not DELETE.' },
    })
  })

  it('the card and healthz allow only GET and HEAD', async () => {
    const { server } = await startTestServer(say)
    for (const path of [cardPath, '/healthz']) {
      const response = await fetch(`${server.url}${path}`, { method: 'POST', body: '{}' })
      expect(response.status).toBe(405)
      expect(response.headers.get('allow')).toBe('GET, HEAD')
      expect(response.headers.get('content-type')).toBe('application/json')
    }
  })

  it('an unknown path returns 404 with the paths of JSON-RPC and the card', async () => {
    const { server } = await startTestServer(say, { path: '/rpc' })
    const response = await fetch(`${server.url}/somewhere`)
    expect(response.status).toBe(404)
    const { error } = (await response.json()) as Problem
    expect(error).toMatchObject({ code: 404, status: 'NOT_FOUND' })
    expect(error.message).toContain('JSON-RPC is at /rpc')
    expect(error.message).toContain(`the agent describes itself at ${cardPath}`)
  })
})
