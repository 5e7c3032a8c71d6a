import {
  constants,
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/connect.ts'
import type { ConnectOptions, Notice } from '../../src/client/options.ts'
import { countingAgent, generationOf } from '../contracts/service/contract.ts'
import { chunks, count } from '../support/agents/counting-agent.ts'
import { collect, until } from '../support/async.ts'
import { selfSigned } from '../support/auth/certificates.ts'
import { breakingGrpc, grpcTransport } from '../support/grpc/grpc-transport.ts'
import { closedPort, listenOnFreePort, startHttpServer } from '../support/servers/http-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const quick = { minDelay: 1, maxDelay: 10 }

function cardAt(url: string, protocolVersion = '1.0') {
  return { name: 'Test', supportedInterfaces: [{ url, protocolBinding: 'GRPC', protocolVersion }] }
}

/** A client of whatever is at this address. */
async function at(address: string, options: ConnectOptions = {}) {
  return await connect(cardAt(address), { bindings: [grpcTransport()], retry: quick, resume: quick, ...options })
}

/** A server that knows nothing of gRPC but what it is told to answer. */
async function http2Server(answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void): Promise<string> {
  const server = createHttp2Server()
  server.on('stream', (stream, headers) => {
    stream.on('error', () => {})
    answer(stream, headers)
  })
  onTestFinished(() => {
    server.close()
  })
  return `127.0.0.1:${await listenOnFreePort(server)}`
}

/** A way to a port through which bytes go until it is closed, without a word, or only ended. */
async function proxyTo(port: number, isHeld: () => boolean): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connectTcp(port, '127.0.0.1')
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from)
      from.on('error', () => {})
      from.on('data', (chunk) => isHeld() || to.write(chunk))
      from.on('close', () => to.destroy())
    }
  })
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return `127.0.0.1:${await listenOnFreePort(server)}`
}

describe('a client over gRPC', () => {
  it('finds its way by the card, and says so', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const client = await connect(server.url, { bindings: [grpcTransport()] })
    expect((await client.send('hello')).text).toBe('hi')
    const door = { binding: 'GRPC', dialect: 'v1.0', url: `http://127.0.0.1:${server.port}` }
    expect(client.explain().endpoint).toEqual(door)
  })

  it('takes the older service where there is no newer one', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true, dialects: ['v0.3-proto'] })
    const client = await at(`127.0.0.1:${server.port}`)
    expect((await client.send('hello')).text).toBe('hi')
    expect(client.explain().endpoint?.dialect).toBe('v0.3-proto')
  })

  it('is one of several ways', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const client = await connect(server.url, { bindings: ['HTTP+JSON', grpcTransport()], dialects: ['v1.0'] })
    await client.send('hello')
    expect(client.explain().endpoint?.binding).toBe('HTTP+JSON')
  })

  it('speaks TLS, and trusts whom it is told to', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const { key, cert } = selfSigned()
    const proxy = createTlsServer({ key, cert, ALPNProtocols: ['h2'] }, (near) => {
      const far = connectTcp(server.port, '127.0.0.1')
      for (const socket of [near, far]) socket.on('error', () => {})
      near.pipe(far).pipe(near)
    })
    const port = await listenOnFreePort(proxy)
    onTestFinished(() => {
      proxy.close()
    })
    const trusting = await at(`https://localhost:${port}`, { bindings: [grpcTransport({ tls: { ca: cert } })] })
    expect((await trusting.send('hello')).text).toBe('hi')
    const strict = await at(`https://localhost:${port}`)
    await expect(strict.send('hello')).rejects.toMatchObject({ code: 'unavailable', reason: 'certificate' })
  })

  it('goes on exactly after the last event, wherever its streams break', async () => {
    const { server } = await startTestServer(count, { grpc: true })
    const notices: Notice[] = []
    const client = await connect(server.url, {
      ...breakingGrpc([1, 5, 2, 9]),
      resume: quick,
      onNotice: (notice) => notices.push(notice),
    })
    const events = await collect(client.stream('go'))
    expect(events.map(generationOf)).toEqual(Array.from({ length: chunks + 3 }, (_, index) => index + 2))
    expect(notices.map(({ type }) => type)).toEqual(['resumed', 'resumed', 'resumed', 'resumed'])
  })

  it('tells the agent how long it waits, and when it does not any more', async () => {
    const asked: string[] = []
    const left: number[] = []
    const address = await http2Server((stream, headers) => {
      asked.push(`${headers['grpc-timeout']}`)
      stream.on('close', () => left.push(stream.rstCode))
    })
    const client = await at(address)
    await expect(client.task('x').get({ timeout: 200 })).rejects.toMatchObject({ code: 'timeout', reason: 'deadline' })
    const controller = new AbortController()
    const events = client.stream('go', { signal: controller.signal })
    const next = events.next()
    await until(() => asked.length === 2)
    controller.abort()
    expect(await next).toMatchObject({ done: true })
    await until(() => left.length === 2)
    expect(asked).toEqual([expect.stringMatching(/^(200|1\d\d)m$/), 'undefined'])
    expect(left).toEqual([constants.NGHTTP2_CANCEL, constants.NGHTTP2_CANCEL])
  })

  it('has the same errors as over any other binding', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const client = await at(`127.0.0.1:${server.port}`)
    await expect(client.task('none').get()).rejects.toMatchObject({
      code: 'task-not-found',
      binding: 'GRPC',
      dialect: 'v1.0',
    })
    const wrong = { messageId: '', role: 'user', parts: [] } as const
    const call = { principal: { id: 'x', isAuthenticated: false }, signal: new AbortController().signal } as never
    await expect(client.service.sendMessage({ message: wrong }, call)).rejects.toMatchObject({
      code: 'invalid-params',
      violations: [{ field: expect.stringContaining('message') }],
    })
  })

  it('gives credentials, and others when they are refused', async () => {
    const asked: (string | undefined)[] = []
    const address = await http2Server((stream, headers) => {
      asked.push(headers.authorization)
      const status = headers.authorization === 'Bearer new' ? '5' : '16'
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': status }, { endStream: true })
    })
    const client = await at(address, {
      authorize: ({ challenge }) => ({
        headers: { authorization: challenge === undefined ? 'Bearer old' : 'Bearer new' },
      }),
    })
    await expect(client.task('x').get()).rejects.toMatchObject({ code: 'task-not-found' })
    expect(asked).toEqual(['Bearer old', 'Bearer new'])
  })
})

describe('a client over gRPC of somebody', () => {
  it('who is not there says so', async () => {
    const client = await at(`127.0.0.1:${await closedPort()}`)
    await expect(client.send('hello')).rejects.toMatchObject({ reason: 'connection-refused', binding: 'GRPC' })
  })

  it('who speaks HTTP/1.1 says so', async () => {
    const origin = await startHttpServer((_, response) => response.end('hello'))
    const client = await at(new URL(origin).host)
    await expect(client.task('x').get()).rejects.toMatchObject({ code: 'unavailable', reason: 'not-http' })
  })

  it.each([
    ['a page of a proxy', { ':status': 502, 'content-type': 'text/html' }, '<html>', 'gateway'],
    ['JSON', { ':status': 200, 'content-type': 'application/json' }, '{}', 'not-a2a'],
    ['nothing', { ':status': 200, 'content-type': 'application/grpc' }, '', 'connection-lost'],
    ['half a message', { ':status': 200, 'content-type': 'application/grpc' }, '\0\0\0\0\u0009abc', 'connection-lost'],
    ['another message', { ':status': 200, 'content-type': 'application/grpc' }, '\0\0\0\0\u0002zz', 'not-a2a'],
    ['a giant', { ':status': 200, 'content-type': 'application/grpc' }, '\0\u007f\0\0\0', 'answer-too-large'],
  ])('who answers with %s fails within its limits', async (_, headers, body, reason) => {
    const address = await http2Server((stream) => {
      stream.respond(headers)
      stream.end(body)
    })
    const client = await at(address, { retry: { tries: 1 } })
    await expect(client.task('x').get()).rejects.toMatchObject({ reason })
  })

  it('who falls silent notices it, and goes on elsewhere', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    let isHeld = false
    const address = await proxyTo(server.port, () => isHeld)
    const client = await at(address, { bindings: [grpcTransport({ keepAlive: 50 })] })
    const events = client.stream('wait')
    const { value } = await events.next()
    isHeld = true
    const next = events.next()
    const direct = await at(`127.0.0.1:${server.port}`)
    const id = value?.type === 'task' ? value.task.id : ''
    await direct.task(id).cancel()
    setTimeout(() => {
      isHeld = false
    }, 200)
    expect((await next).value).toMatchObject({ type: 'status', status: { state: 'canceled' } })
  })

  it('who is on a network that may not be asked refuses to', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const client = await at(`127.0.0.1:${server.port}`, { bindings: [grpcTransport({ loopback: 'refuse' })] })
    await expect(client.send('hello')).rejects.toThrow('this machine')
  })

  it('who goes away is found again when it is back', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const { port } = server
    const client = await at(`127.0.0.1:${port}`, { retry: { ...quick, tries: 200 } })
    await client.send('hello')
    await server.close()
    const again = client.listTasks().next()
    await startTestServer(countingAgent, { grpc: true, port })
    expect((await again).done).toBe(true)
    await until(async () => (await client.send('hello')).text === 'hi')
  })
})
