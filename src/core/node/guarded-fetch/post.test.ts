import { createServer as createTlsServer } from 'node:https'
import { createServer as createNetServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { selfSigned } from '../../../../test/support/auth/certificates.ts'
import { closedPort, listenOnFreePort, startHttpServer } from '../../../../test/support/servers/http-server.ts'
import { hostileUrls } from '../../../../test/support/wire/hostile-urls.ts'
import { RequestRefused } from '../../http/address-guard.ts'
import { createGuardedFetch, type GuardedFetchOptions } from './guarded-fetch.ts'
import type { PostRequest, SentPost } from './post.ts'

function createPost(options: GuardedFetchOptions = {}) {
  const fetch = createGuardedFetch({ redirects: 0, ...options })
  onTestFinished(() => fetch.close())
  return ({ url, headers = {}, body = '{}' }: Partial<PostRequest> & Pick<PostRequest, 'url'>): SentPost => {
    if (!fetch.post) throw new Error('expected a fetch with post')
    return fetch.post({ url, headers, body })
  }
}

const local = { allow: ['127.0.0.0/8'] }

describe('the guard', () => {
  it.each(hostileUrls)('a post to $url is rejected as $reason', async ({ url, reason, resolvesTo }) => {
    const resolve = async () =>
      (resolvesTo ?? []).map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    const post = createPost({ resolve })
    for (const _ of ['first', 'remembered']) {
      const error = await post({ url }).response.catch((thrown) => thrown)
      expect(error).toBeInstanceOf(RequestRefused)
      expect(error.reason).toBe(reason)
    }
  })

  it('a host that resolves to another address later is checked again', async () => {
    const origin = await startHttpServer((_, response) => void response.writeHead(204, { connection: 'close' }).end())
    const url = origin.replace('127.0.0.1', 'receiver.example')
    const addresses = ['127.0.0.1', '10.0.0.1']
    const resolve = async () => [{ address: addresses.shift() ?? '', family: 4 }]
    const post = createPost({ allow: ['127.0.0.1'], resolve })
    const first = await post({ url }).response
    await first.discarded
    expect(first.status).toBe(204)
    await expect(post({ url }).response).rejects.toMatchObject({ reason: 'private' })
  })

  it('a redirect is refused, and a fetch that may follow redirects has no post', async () => {
    const origin = await startHttpServer((_, response) => void response.writeHead(307, { location: '/other' }).end())
    await expect(createPost(local)({ url: origin }).response).rejects.toMatchObject({ reason: 'redirect' })
    expect(createGuardedFetch({ redirects: 1 }).post).toBeUndefined()
  })

  it('a wrapper made with Object.assign does not inherit post', () => {
    const fetch = createGuardedFetch({ redirects: 0 })
    expect(Object.assign(async () => new Response(), fetch)).not.toHaveProperty('post')
  })
})

describe('a post', () => {
  it('body and headers arrive unchanged, except those of the connection', async () => {
    const requests: { headers: NodeJS.Dict<string | string[]>; body: string }[] = []
    const origin = await startHttpServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      requests.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
      response.writeHead(204).end()
    })
    const post = createPost(local)
    const smuggled = { 'content-length': '1', 'transfer-encoding': 'chunked', host: 'other.example' }
    for (const token of ['plain', 'Gr\u00fc\u00dfe']) {
      const headers = {
        'content-type': 'application/json',
        'x-token': token,
        'X-Twice': 'a',
        'x-twice': 'b',
        ...smuggled,
      }
      await (await post({ url: `${origin}/path?q=1`, headers, body: '{"text":"\u00fc \u2713"}' }).response).discarded
    }
    const { host } = new URL(origin)
    for (const { headers, body } of requests) {
      expect(body).toBe('{"text":"\u00fc \u2713"}')
      expect(headers).toMatchObject({
        host,
        'content-type': 'application/json',
        'x-twice': 'a, b',
        'content-length': '17',
      })
      expect(headers).toMatchObject({ accept: '*/*', 'accept-encoding': 'identity' })
      expect(headers).not.toHaveProperty('transfer-encoding')
    }
    expect(requests.map(({ headers }) => headers['x-token'])).toEqual(['plain', 'Gr\u00fc\u00dfe'])
  })

  it('posts one after the other share a connection, also if their responses have bodies', async () => {
    const ports = new Set<number | undefined>()
    const origin = await startHttpServer((request, response) => {
      ports.add(request.socket.remotePort)
      response.end('x'.repeat(10_000))
    })
    const post = createPost(local)
    for (let count = 0; count < 3; count++) await (await post({ url: origin }).response).discarded
    expect(ports.size).toBe(1)
  })

  it('a body that is long or never ends is cut off', async () => {
    const origin = await startHttpServer((request, response) => {
      response.write('x'.repeat(request.url === '/long' ? 1_000_000 : 1))
    })
    const post = createPost(local)
    for (const path of ['/long', '/endless']) {
      const { status, discarded } = await post({ url: `${origin}${path}` }).response
      expect(status).toBe(200)
      await discarded
    }
  })

  it('an error response says when to retry', async () => {
    const origin = await startHttpServer((_, response) => void response.writeHead(503, { 'retry-after': '7' }).end())
    expect(await createPost(local)({ url: origin }).response).toMatchObject({ status: 503, retryAfter: '7' })
  })

  it('an aborted post rejects with the reason', async () => {
    const origin = await startHttpServer(() => {})
    const sent = createPost(local)({ url: origin })
    sent.abort(new Error('shutting down'))
    await expect(sent.response).rejects.toThrow('shutting down')
  })

  it('a post without a response, or without a connection, ends with an error', async () => {
    const origin = await startHttpServer(() => {})
    await expect(createPost({ ...local, totalTimeout: 50 })({ url: origin }).response).rejects.toMatchObject({
      code: 'ERR_TOTAL_TIMEOUT',
    })
    const unanswered = createPost({ ...local, connectTimeout: 50, resolve: () => new Promise(() => {}) })
    await expect(unanswered({ url: 'http://receiver.example/' }).response).rejects.toMatchObject({
      code: 'ERR_CONNECT_TIMEOUT',
    })
    await expect(createPost(local)({ url: `http://127.0.0.1:${await closedPort()}` }).response).rejects.toMatchObject({
      code: 'ECONNREFUSED',
    })
  })

  it.each([
    ['another protocol', 'SSH-2.0-server\r\n\r\n'],
    ['a status that HTTP does not have', 'HTTP/1.1 999 Strange\r\ncontent-length: 0\r\n\r\n'],
    ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['a closed connection', ''],
  ])('a receiver that responds with %s fails', async (_, text) => {
    const server = createNetServer((socket) => {
      socket.on('error', () => {})
      socket.once('data', () => socket.end(text))
    })
    const port = await listenOnFreePort(server)
    await expect(createPost(local)({ url: `http://127.0.0.1:${port}` }).response).rejects.toThrow()
  })

  it('the certificate of a receiver is verified', async () => {
    const { cert, key } = selfSigned()
    const server = createTlsServer({ cert, key }, (_, response) => void response.writeHead(204).end())
    const url = `https://localhost:${await listenOnFreePort(server)}/`
    const loopback = { loopback: 'allow' } as const
    expect((await createPost({ ...loopback, tls: { ca: cert } })({ url }).response).status).toBe(204)
    await expect(createPost(loopback)({ url }).response).rejects.toThrow(/self.signed/)
  })
})
