import { describe, expect, it, vi } from 'vitest'
import { countingAgent, describeEvent, taskIdOf } from '../../../test/contracts/service/contract.ts'
import { startHttpServer } from '../../../test/support/servers/http-server.ts'
import { agentRoute, cardRoute, createLocalHandler, fakePeer } from '../../../test/support/servers/local-handler.ts'
import type { StreamEvent } from '../protocol/events.ts'
import { connect } from './connect.ts'
import type { ConnectOptions, Notice, Target } from './options.ts'

const quick = { minDelay: 1, maxDelay: 2 }

async function open(peer: Target, options: ConnectOptions = {}) {
  const notices: Notice[] = []
  const onNotice = (notice: Notice) => notices.push(notice)
  const client = await connect(peer, { retry: quick, resume: quick, polling: quick, onNotice, ...options })
  return { client, typesOf: () => notices.map(({ type }) => type) }
}

function cardAt(url: string, protocolBinding: string, protocolVersion = '1.0') {
  return { name: 'Test', supportedInterfaces: [{ url, protocolBinding, protocolVersion }] }
}

describe('the paths of REST', () => {
  it('a subscription that POST cannot open uses GET from then on', async () => {
    const noPost = (request: Request) =>
      request.method === 'POST' && request.url.endsWith(':subscribe') ? new Response('', { status: 405 }) : undefined
    const peer = fakePeer(noPost, createLocalHandler(countingAgent).fetch)
    const { client } = await open(peer, { bindings: ['HTTP+JSON'] })
    const first = client.stream('wait')
    const id = taskIdOf((await first.next()).value as StreamEvent)
    const subscriptions = () => peer.requestLines.filter((line) => line.includes(':subscribe'))
    for (const requests of [2, 3]) {
      const events = client.task(id).subscribe()
      expect(describeEvent((await events.next()).value as StreamEvent)).toBe('task working')
      await vi.waitFor(() => expect(subscriptions()).toHaveLength(requests))
      await events.return(undefined)
    }
    expect(subscriptions()).toEqual([
      `POST /tasks/${id}:subscribe`,
      `GET /tasks/${id}:subscribe`,
      `GET /tasks/${id}:subscribe`,
    ])
    await first.return(undefined)
  })

  it.each([
    ['http://localhost/v1', '0.3', 'v0.3-proto'],
    ['http://localhost', '0.3', 'v0.3-proto'],
    ['http://localhost/v1', '1.0', 'v1.0'],
    ['http://localhost/', '1.0', 'v1.0'],
  ] as const)('an agent is found at %s or beside it (A2A %s)', async (url, version, dialect) => {
    const handler = createLocalHandler(countingAgent, { dialects: [dialect] })
    const { client } = await open(fakePeer(cardRoute(cardAt(url, 'HTTP+JSON', version)), agentRoute(handler)))
    expect((await client.send('hello')).text).toBe('hi')
    expect((await client.send('count')).output.text).toBe('onetwothree')
    expect(client.explain().endpoint).toMatchObject({ dialect })
  })

  it('a missing task is not taken for a missing path', async () => {
    const { client } = await open(createLocalHandler(countingAgent), { bindings: ['HTTP+JSON'] })
    await expect(client.task('unknown').get()).rejects.toMatchObject({ code: 'task-not-found' })
  })
})

describe('an unreachable address in a card', () => {
  it('the same path on the origin of the card is used instead', async () => {
    const handler = createLocalHandler(countingAgent, { path: '/rpc' })
    const wire = cardAt('http://127.0.0.1:1234/rpc', 'JSONRPC')
    const unreachable = (request: Request) => {
      if (request.url.includes('localhost')) return undefined
      throw new TypeError('fetch failed', { cause: Object.assign(new Error(''), { code: 'ECONNREFUSED' }) })
    }
    const { client, typesOf } = await open(fakePeer(unreachable, cardRoute(wire), agentRoute(handler)))
    expect((await client.send('hello')).text).toBe('hi')
    expect(client.explain().endpoint?.url).toBe('http://localhost/rpc')
    expect(typesOf()).toEqual(['fallback-endpoint'])
  })

  it('the error of the named endpoint is thrown if there is no other one', async () => {
    const wire = cardAt('http://localhost/rpc', 'JSONRPC')
    const { client } = await open(fakePeer(cardRoute(wire)))
    await expect(client.send('hello')).rejects.toMatchObject({
      code: 'method-not-found',
      reason: 'wrong-path',
      url: 'http://localhost/rpc',
      status: 404,
      hint: expect.stringContaining('correct the path'),
    })
  })
})

describe('credentials and messages', () => {
  const authorize = () => ({ headers: { authorization: 'Bearer secret' } })
  const failWith = (code: string) => (request: Request) => {
    if (request.url.startsWith('http://localhost/')) return undefined
    throw new TypeError('fetch failed', { cause: Object.assign(new Error(''), { code }) })
  }

  /** An agent whose card names another origin, with the requests that reached the origin of the card. */
  async function openElsewhere(failure: string | Response, options: ConnectOptions) {
    const requests: Request[] = []
    const record = (request: Request) => {
      if (request.url.startsWith('http://localhost/') && request.method === 'POST') requests.push(request)
      return undefined
    }
    const elsewhere =
      typeof failure === 'string'
        ? failWith(failure)
        : (request: Request) => (request.url.startsWith('http://localhost/') ? undefined : failure.clone())
    const card = cardAt('https://agent.test/rpc', 'JSONRPC')
    const handler = createLocalHandler(countingAgent, { path: '/rpc' })
    const { client } = await open(fakePeer(record, elsewhere, cardRoute(card), agentRoute(handler)), options)
    return { client, requests }
  }

  it.each([
    ['a refused connection', 'ECONNREFUSED'],
    ['an untrusted certificate', 'SELF_SIGNED_CERT_IN_CHAIN'],
    ['an unknown name', 'ENOTFOUND'],
    ['a missing path', new Response('', { status: 404 })],
    ['a web page', new Response('<html></html>', { headers: { 'content-type': 'text/html' } })],
  ])('credentials and messages go to no other endpoint than that of a verified card after %s', async (_, failure) => {
    const { client, requests } = await openElsewhere(failure, { authorize, verifyCard: (wire) => wire })
    await expect(client.send('hello')).rejects.toMatchObject({ url: 'https://agent.test/rpc' })
    expect(requests).toEqual([])
  })

  it.each([
    ['an untrusted certificate', 'SELF_SIGNED_CERT_IN_CHAIN', 'certificate'],
    ['a server without TLS', 'ERR_SSL_WRONG_VERSION_NUMBER', 'not-tls'],
  ])('credentials and messages go nowhere after %s, even if the card is not verified', async (_, code, reason) => {
    const { client, requests } = await openElsewhere(code, { authorize })
    await expect(client.send('hello')).rejects.toMatchObject({ reason })
    expect(requests).toEqual([])
  })

  it('credentials and messages do not follow a redirect of the endpoint that a verified card names', async () => {
    const paths: string[] = []
    const elsewhere = await startHttpServer((request, response) => {
      paths.push(`${request.url}`)
      response.end('{}')
    })
    const agent = await startHttpServer((_, response) => response.writeHead(307, { location: `${elsewhere}/x` }).end())
    const card = cardAt(agent, 'JSONRPC')
    const { client } = await open(card, { authorize, verifyCard: (wire) => wire })
    await expect(client.send('hello')).rejects.toMatchObject({ reason: 'not-followed', url: agent })
    expect(paths).toEqual([])
    await expect((await open(card, { authorize })).client.send('hello')).rejects.toThrow()
    expect(paths).toEqual(['/x'])
  })

  it.each(['ECONNREFUSED', 'ENOTFOUND'])(
    'credentials and messages do not go together to an origin that the card does not name (%s)',
    async (failure) => {
      const { client, requests } = await openElsewhere(failure, { authorize })
      expect((await client.send('hello')).text).toBe('hi')
      expect(requests.map(({ headers }) => headers.get('authorization'))).toEqual([null])
    },
  )

  it('credentials and messages go to a second address that the card names', async () => {
    const requests: Request[] = []
    const handler = createLocalHandler(countingAgent, { path: '/rpc' })
    const [first] = cardAt('https://agent.test/rpc', 'JSONRPC').supportedInterfaces
    const [second] = cardAt('http://localhost/rpc', 'JSONRPC').supportedInterfaces
    const record = (request: Request) => {
      requests.push(request)
      return undefined
    }
    const card = { name: 'Test', supportedInterfaces: [first, second] }
    const peer = fakePeer(failWith('ECONNREFUSED'), cardRoute(card), record, agentRoute(handler))
    const { client } = await open(peer, { authorize, verifyCard: (wire) => wire })
    expect((await client.send('hello')).text).toBe('hi')
    expect(requests.at(-1)?.headers.get('authorization')).toBe('Bearer secret')
  })
})

describe('a card with several interfaces', () => {
  it('the next interface is used if the first one does not work', async () => {
    const wire = {
      name: 'Test',
      supportedInterfaces: [
        { url: 'localhost:50051', protocolBinding: 'GRPC', protocolVersion: '1.0' },
        { url: 'http://localhost/rpc', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
        { url: 'http://localhost', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0' },
      ],
    }
    const { client } = await open(fakePeer(cardRoute(wire), agentRoute(createLocalHandler(countingAgent))))
    expect((await client.send('hello')).text).toBe('hi')
    expect(client.explain().endpoint).toMatchObject({ binding: 'HTTP+JSON' })
  })

  it('a card without a usable interface is rejected', async () => {
    const wire = cardAt('localhost:50051', 'GRPC')
    await expect(connect(fakePeer(cardRoute(wire)))).rejects.toMatchObject({ reason: 'no-common-interface' })
  })
})

it('a task of an agent whose card may be of 0.2 or 0.1 is canceled in the version that the agent speaks', async () => {
  const handler = createLocalHandler(countingAgent, { dialects: ['v0.1'] })
  // 0.1 knows no version header.
  const agent = (request: Request) => {
    request.headers.delete('a2a-version')
    return handler.fetch(request)
  }
  const modes = { defaultInputModes: ['text'], defaultOutputModes: ['text'] }
  const card = { name: 'Old', description: '', version: '1', capabilities: { streaming: true }, skills: [], ...modes }
  const peer = fakePeer(cardRoute({ ...card, url: 'http://localhost/' }), agent)
  const { client } = await open(peer)
  const { task } = await client.send('wait', { returnImmediately: true })
  const { client: other } = await open(peer)
  const canceled = await other.task(task?.id ?? '').cancel()
  expect(canceled.status.state).toBe('canceled')
  expect(other.explain().endpoint).toMatchObject({ dialect: 'v0.1' })
})
