import {
  constants,
  createServer as createHttp2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import { connect as connectTcp, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../../src/core/client/connect.ts'
import type { ConnectOptions, Notice } from '../../../src/core/client/options.ts'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import { connect as connectOnNode } from '../../../src/core/node/guarded-fetch/connect.ts'
import { countingAgent, generationOf } from '../../contracts/service/contract.ts'
import { chunks, count } from '../../support/agents/counting-agent.ts'
import { collect, until } from '../../support/async.ts'
import { selfSigned } from '../../support/auth/certificates.ts'
import { breakingGrpc, grpcTransport } from '../../support/grpc/grpc-transport.ts'
import { closedPort, listenOnFreePort, startHttpServer } from '../../support/servers/http-server.ts'
import { startTestServer } from '../../support/servers/test-server.ts'

const quick = { minDelay: 1, maxDelay: 10 }

function cardAt(url: string, protocolVersion = '1.0') {
  return {
    name: 'Test',
    capabilities: { streaming: true },
    supportedInterfaces: [{ url, protocolBinding: 'GRPC', protocolVersion }],
  }
}

/** A gRPC client of this address. */
async function connectTo(address: string, options: ConnectOptions = {}) {
  return await connect(cardAt(address), { bindings: [grpcTransport()], retry: quick, resume: quick, ...options })
}

/** An HTTP/2 server without gRPC, which responds as `answer` does. */
async function startHttp2Server(
  answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void,
): Promise<string> {
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

/** A TCP proxy that drops all bytes while `isHeld` returns true. */
async function startProxy(port: number, isHeld: () => boolean): Promise<string> {
  const sockets = new Set<Socket>()
  const server = createServer((inbound) => {
    const outbound = connectTcp(port, '127.0.0.1')
    for (const [from, to] of [
      [inbound, outbound],
      [outbound, inbound],
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

describe('a gRPC client', () => {
  it('a client finds the gRPC endpoint by the card and reports it', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const client = await connect(server.url, { bindings: [grpcTransport()] })
    expect((await client.send('hello')).text).toBe('hi')
    const endpoint = { binding: 'GRPC', dialect: 'v1.0', url: `http://127.0.0.1:${server.port}` }
    expect(client.explain().endpoint).toEqual(endpoint)
  })

  it('a client falls back to the 0.3 service', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true, dialects: ['v0.3-proto'] })
    const client = await connectTo(`127.0.0.1:${server.port}`)
    expect((await client.send('hello')).text).toBe('hi')
    expect(client.explain().endpoint?.dialect).toBe('v0.3-proto')
  })

  it('a client prefers the first usable binding', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const client = await connect(server.url, { bindings: ['HTTP+JSON', grpcTransport()], dialects: ['v1.0'] })
    await client.send('hello')
    expect(client.explain().endpoint?.binding).toBe('HTTP+JSON')
  })

  it('a client uses TLS and trusts the configured authorities', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const { key, cert } = selfSigned()
    const proxy = createTlsServer({ key, cert, ALPNProtocols: ['h2'] }, (inbound) => {
      const outbound = connectTcp(server.port, '127.0.0.1')
      for (const socket of [inbound, outbound]) socket.on('error', () => {})
      inbound.pipe(outbound).pipe(inbound)
    })
    const port = await listenOnFreePort(proxy)
    onTestFinished(() => {
      proxy.close()
    })
    const trusting = await connectTo(`https://localhost:${port}`, { bindings: [grpcTransport({ tls: { ca: cert } })] })
    expect((await trusting.send('hello')).text).toBe('hi')
    const strict = await connectTo(`https://localhost:${port}`)
    await expect(strict.send('hello')).rejects.toMatchObject({ code: 'unavailable', reason: 'certificate' })
  })

  it('a client resumes exactly after the last event, wherever a stream breaks', async () => {
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

  it('a client sends its timeout and cancels aborted calls', async () => {
    const timeouts: string[] = []
    const resetCodes: number[] = []
    const address = await startHttp2Server((stream, headers) => {
      timeouts.push(`${headers['grpc-timeout']}`)
      stream.on('close', () => resetCodes.push(stream.rstCode))
    })
    const client = await connectTo(address)
    await expect(client.task('x').get({ timeout: 200 })).rejects.toMatchObject({ code: 'timeout', reason: 'deadline' })
    const controller = new AbortController()
    const events = client.stream('go', { signal: controller.signal })
    const next = events.next()
    await until(() => timeouts.length === 2)
    controller.abort()
    expect(await next).toMatchObject({ done: true })
    await until(() => resetCodes.length === 2)
    expect(timeouts).toEqual([expect.stringMatching(/^(200|1\d\d)m$/), 'undefined'])
    expect(resetCodes).toEqual([constants.NGHTTP2_CANCEL, constants.NGHTTP2_CANCEL])
  })

  it('gRPC errors equal those of other bindings', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const client = await connectTo(`127.0.0.1:${server.port}`)
    await expect(client.task('none').get()).rejects.toMatchObject({
      code: 'task-not-found',
      binding: 'GRPC',
      dialect: 'v1.0',
    })
    const invalid = { messageId: '', role: 'user', parts: [] } as const
    const call = { principal: { id: 'x', isAuthenticated: false }, signal: new AbortController().signal } as never
    await expect(client.service.sendMessage({ message: invalid }, call)).rejects.toMatchObject({
      code: 'invalid-params',
      violations: [{ field: expect.stringContaining('message') }],
    })
  })

  it('a client sends credentials, and new ones when they are rejected', async () => {
    const received: (string | undefined)[] = []
    const address = await startHttp2Server((stream, headers) => {
      received.push(headers.authorization)
      const status = headers.authorization === 'Bearer new' ? '5' : '16'
      stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': status }, { endStream: true })
    })
    const client = await connectTo(address, {
      authorize: ({ challenge }) => ({
        headers: { authorization: challenge === undefined ? 'Bearer old' : 'Bearer new' },
      }),
    })
    await expect(client.task('x').get()).rejects.toMatchObject({ code: 'task-not-found' })
    expect(received).toEqual(['Bearer old', 'Bearer new'])
  })
})

describe('a gRPC client with a failing server', () => {
  it('an unreachable server fails with connection-refused', async () => {
    const client = await connectTo(`127.0.0.1:${await closedPort()}`)
    await expect(client.send('hello')).rejects.toMatchObject({ reason: 'connection-refused', binding: 'GRPC' })
  })

  it('an HTTP/1.1 server fails with not-http', async () => {
    const origin = await startHttpServer((_, response) => response.end('hello'))
    const client = await connectTo(new URL(origin).host)
    await expect(client.task('x').get()).rejects.toMatchObject({ code: 'unavailable', reason: 'not-http' })
  })

  it.each([
    ['a proxy error page', { ':status': 502, 'content-type': 'text/html' }, '<html>', 'gateway'],
    ['JSON', { ':status': 200, 'content-type': 'application/json' }, '{}', 'not-a2a'],
    ['no message', { ':status': 200, 'content-type': 'application/grpc' }, '', 'connection-lost'],
    ['half a message', { ':status': 200, 'content-type': 'application/grpc' }, '\0\0\0\0\u0009abc', 'connection-lost'],
    [
      'a message of another type',
      { ':status': 200, 'content-type': 'application/grpc' },
      '\0\0\0\0\u0002zz',
      'not-a2a',
    ],
    [
      'an oversized message',
      { ':status': 200, 'content-type': 'application/grpc' },
      '\0\u007f\0\0\0',
      'answer-too-large',
    ],
  ])('a server that responds with %s fails with a reason', async (_, headers, body, reason) => {
    const address = await startHttp2Server((stream) => {
      stream.respond(headers)
      stream.end(body)
    })
    const client = await connectTo(address, { retry: { tries: 1 } })
    await expect(client.task('x').get()).rejects.toMatchObject({ reason })
  })

  it('a client notices a silent connection and resumes on another one', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    let isHeld = false
    const address = await startProxy(server.port, () => isHeld)
    const client = await connectTo(address, { bindings: [grpcTransport({ keepAlive: 50 })] })
    const events = client.stream('wait')
    const { value } = await events.next()
    await events.next()
    isHeld = true
    const next = events.next()
    const direct = await connectTo(`127.0.0.1:${server.port}`)
    const id = value?.type === 'task' ? value.task.id : ''
    await direct.task(id).cancel()
    setTimeout(() => {
      isHeld = false
    }, 200)
    expect((await next).value).toMatchObject({ type: 'status', status: { state: 'canceled' } })
  })

  it('a client refuses an address that is not allowed', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const client = await connectTo(`127.0.0.1:${server.port}`, { bindings: [grpcTransport({ loopback: 'refuse' })] })
    await expect(client.send('hello')).rejects.toThrow('this machine')
  })

  it('a client calls this machine only if its target is a URL of this machine', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const transport = grpc()
    onTestFinished(() => transport.close())
    const local = await connectOnNode(server.url, { bindings: [transport] })
    expect((await local.send('hello')).text).toBe('hi')
    const byCard = await connectOnNode(cardAt(`127.0.0.1:${server.port}`), { bindings: [transport], retry: quick })
    await expect(byCard.send('hello')).rejects.toThrow("loopback: 'allow'")
  })

  it('a client reconnects when its server returns', async () => {
    const { server } = await startTestServer(countingAgent, { grpc: true })
    const { port } = server
    const client = await connectTo(`127.0.0.1:${port}`, { retry: { ...quick, tries: 200 } })
    await client.send('hello')
    await server.close()
    const nextTask = client.listTasks().next()
    await startTestServer(countingAgent, { grpc: true, port })
    expect((await nextTask).done).toBe(true)
    await until(async () => (await client.send('hello')).text === 'hi')
  })
})
