import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { BodyTooLarge } from '../core/http/exchange.ts'
import { createPost } from './mesh-peer.ts'

const servers: Server[] = []
const headers = { 'content-type': 'application/json' }
const never = new AbortController().signal
const request = { headers, body: '{"text":"é"}', signal: never, maxBytes: 1_000 }

afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections()
})

it('a request carries the body, its length and its headers, and the response is read', async () => {
  const { url } = await listen(async (incoming, response) => {
    const { method, headers } = incoming
    const body = await textOf(incoming)
    response.writeHead(201).end(JSON.stringify([method, incoming.url, headers['content-length'], body]))
  })
  const { status, bytes } = await createPost(`${url}/mesh?a=b`)(request)
  expect(status).toBe(201)
  expect(JSON.parse(new TextDecoder().decode(bytes))).toEqual(['POST', '/mesh?a=b', '13', '{"text":"é"}'])
})

it('requests share a connection', async () => {
  const { url, sockets } = await listen((_, response) => response.end('{}'))
  const post = createPost(url)
  for (let round = 0; round < 3; round++) await post(request)
  expect(sockets).toHaveLength(1)
})

it('a request on a connection that the server has just closed is sent again on a new one', async () => {
  const { url, sockets } = await listen((_, response) => {
    if (sockets.length > 1) return response.end('{"connection":2}')
    // The second request on the first connection gets no response.
    if (requests++ > 0) return response.socket?.destroy()
    response.end('{"connection":1}')
  })
  let requests = 0
  const post = createPost(url)
  await post(request)
  expect(new TextDecoder().decode((await post(request)).bytes)).toBe('{"connection":2}')
})

it('a request on a new connection is not sent again', async () => {
  let requests = 0
  const { url } = await listen((_, response) => {
    requests++
    response.socket?.destroy()
  })
  await expect(createPost(url)(request)).rejects.toMatchObject({ code: 'ECONNRESET' })
  expect(requests).toBe(1)
})

it('a response beyond the limit is rejected', async () => {
  const { url } = await listen((_, response) => response.end('x'.repeat(1_001)))
  await expect(createPost(url)(request)).rejects.toBeInstanceOf(BodyTooLarge)
})

it.each([301, 302, 303, 307, 308])('a redirect (%i) is not followed', async (status) => {
  let requests = 0
  const { url } = await listen((_, response) => {
    requests++
    response.writeHead(status, { location: '/elsewhere' }).end()
  })
  await expect(createPost(url)(request)).rejects.toThrow(`The peer redirects (${status}).`)
  expect(requests).toBe(1)
})

it('a compressed response is rejected', async () => {
  const { url } = await listen((_, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('…'))
  await expect(createPost(url)(request)).rejects.toThrow('The response is compressed (gzip).')
})

it('a response that breaks off is rejected', async () => {
  const { url } = await listen((_, response) => {
    response.writeHead(200, { 'content-length': 10 }).write('12345')
    setTimeout(() => response.socket?.destroy(), 20)
  })
  await expect(createPost(url)(request)).rejects.toMatchObject({ code: 'ECONNRESET' })
})

it.each(['before the response', 'within the response'])(
  'a call that is aborted %s ends with the reason',
  async (when) => {
    const { url } = await listen((_, response) => {
      if (when === 'within the response') response.write('{')
    })
    const controller = new AbortController()
    const answer = createPost(url)({ ...request, signal: controller.signal })
    setTimeout(() => controller.abort(new Error('the caller left')), 50)
    await expect(answer).rejects.toThrow('the caller left')
  },
)

it.each([
  ['ftp://127.0.0.1/', 'Expected an http or https URL.'],
  ['http://name:secret@127.0.0.1/', 'The URL contains a user name or password'],
  ['nowhere', 'Invalid URL'],
])('the endpoint %s fails when it is called', async (endpoint, message) => {
  const post = createPost(endpoint)
  await expect(post(request)).rejects.toThrow(message)
})

async function listen(listener: RequestListener): Promise<{ readonly url: string; readonly sockets: Socket[] }> {
  const sockets: Socket[] = []
  const server = createServer(listener).on('connection', (socket) => sockets.push(socket))
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sockets }
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of incoming.setEncoding('utf8')) text += chunk
  return text
}
