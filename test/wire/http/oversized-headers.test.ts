import { connect as connectHttp2 } from 'node:http2'
import { expect, it, onTestFinished } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import { apiKey, hashApiKey, jwt } from '../../../src/entries/auth.ts'
import { selfSigned } from '../../support/auth/certificates.ts'
import { audience, startIssuer } from '../../support/auth/token-issuer.ts'
import { grpcClient } from '../../support/grpc/grpc-client.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'
import { exchangeBytes, exchangeBytesSlowly, type RawResponse } from '../../support/wire/raw-http1.ts'
import { getOverHttp2, outcomeOverHttp2 } from '../../support/wire/raw-http2.ts'

const megabyte = 'x'.repeat(2 ** 20)
const head = 'GET /tasks HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\n'
const challenge = 'Bearer realm="Test", error="invalid_token"'

async function start(options: TestServerOptions = {}) {
  const issuer = await startIssuer()
  const corp = jwt({ issuer: issuer.url, audience, keys: { url: issuer.keysUrl } })
  const started = await startTestServer(async () => 'hi', { auth: { schemes: { corp } }, ...options })
  return { ...started, issuer }
}

/** Splits a request into packets of `size` bytes. */
function* packets(request: string, size: number) {
  for (let at = 0; at < request.length; at += size) yield request.slice(at, at + size)
}

/** The response reveals nothing about the token, the agent or its keys. */
function expectRejection({ status, head: responseHead, body }: RawResponse): void {
  expect({ status, body: JSON.parse(body) }).toEqual({
    status: 401,
    body: {
      error: {
        code: 401,
        status: 'UNAUTHENTICATED',
        message: 'The headers are longer than 16384 bytes: no credentials could be read.',
      },
    },
  })
  expect(responseHead).toContain(`www-authenticate: ${challenge.toLowerCase()}\r\n`)
  expect(responseHead).toContain('connection: close')
}

it.each([
  ['a token', `authorization: Bearer ${megabyte}`],
  ['a cookie', `cookie: ${megabyte}`],
  ['a header name', `${megabyte}: 1`],
])('%s of one megabyte gets 401 with a challenge', async (_, line) => {
  const { server } = await start()
  expectRejection(await exchangeBytes(server.port, [`${head}${line}\r\n\r\n`]))
  expectRejection(await exchangeBytes(server.port, [`POST / HTTP/1.1\r\nhost: x\r\n${line}\r\n\r\n`]))
  expectRejection(await exchangeBytes(server.port, [`GET /${megabyte} HTTP/1.1\r\nhost: x\r\n${line}\r\n\r\n`]))
})

it.each([1, 7, 1_000, 16_383])(
  'a token of one megabyte in packets of %d byte(s) gets 401',
  { timeout: 60_000 },
  async (size) => {
    const { server, issuer } = await start()
    const request = `${head}authorization: Bearer ${megabyte}\r\n\r\n`
    expectRejection(await exchangeBytesSlowly(server.port, packets(request, size)))
    // Other requests are answered normally.
    const authorization = `Bearer ${await issuer.token()}`
    const headers = { 'a2a-version': '1.0', authorization }
    expect((await fetch(`${server.url}/tasks`, { headers })).status).toBe(200)
  },
)

it('a token of one megabyte gets 401 on a port shared with HTTP/2 and over TLS', { timeout: 60_000 }, async () => {
  const request = `${head}authorization: Bearer ${megabyte}\r\n\r\n`
  for (const grpc of [true, false]) {
    for (const tls of [true, false]) {
      const { server } = await start({ grpc, ...(tls && { tls: selfSigned() }) })
      expectRejection(await exchangeBytes(server.port, [request], { tls }))
      expectRejection(await exchangeBytesSlowly(server.port, packets(request, 500), { tls }))
    }
  }
})

it('a token of one megabyte gets 431 if the server requires no credentials', async () => {
  const { server } = await startTestServer(async () => 'hi', { auth: 'none' })
  const request = `${head}authorization: Bearer ${megabyte}\r\n\r\n`
  const error = { code: 431, message: 'The headers are longer than 16384 bytes.' }
  for (const response of [
    await exchangeBytes(server.port, [request]),
    await exchangeBytesSlowly(server.port, packets(request, 500)),
  ]) {
    expect(response).toMatchObject({ status: 431, body: JSON.stringify({ error }) })
    expect(response.head).not.toContain('www-authenticate')
  }
})

it('a request with oversized headers is never executed, also without required credentials', async () => {
  const { server, wire } = await startTestServer(async (turn) => turn.requireInput('?'), {
    auth: 'none',
    push: { loopback: 'allow', schemes: ['http'] },
  })
  const { id } = await wire.sendTask('x')
  const hook = { taskId: id, id: 'hook', url: 'http://127.0.0.1:9999/' }
  await wire.result('CreateTaskPushNotificationConfig', hook)
  const line = `DELETE /tasks/${id}/pushNotificationConfigs/hook HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\n`
  const { status } = await exchangeBytes(server.port, [`${line}authorization: Bearer ${megabyte}\r\n\r\n`])
  expect(status).toBe(431)
  expect(await wire.result('GetTaskPushNotificationConfig', { taskId: id, id: 'hook' })).toMatchObject({ id: 'hook' })
})

it('oversized trailers get 431 although credentials are required', async () => {
  const { server, issuer } = await start()
  const authorization = `authorization: Bearer ${await issuer.token()}`
  const chunked = 'content-type: application/json\r\na2a-version: 1.0\r\ntransfer-encoding: chunked'
  const { status } = await exchangeBytes(server.port, [
    `POST / HTTP/1.1\r\nhost: x\r\n${authorization}\r\n${chunked}\r\n\r\n1\r\n{\r\n0\r\n`,
    `x: ${megabyte}\r\n\r\n`,
  ])
  expect(status).toBe(431)
})

it('the challenge names the schemes of all agents on the port', async () => {
  const { server } = await start()
  const key = apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('k') }] })
  server.add(
    agent({ name: 'Other' }, () => 'hi'),
    { mount: '/other', auth: { schemes: { key } } },
  )
  server.add(
    agent({ name: 'Open' }, () => 'hi'),
    { mount: '/open', auth: 'none' },
  )
  const { status, head: responseHead } = await exchangeBytes(server.port, [
    `${head}authorization: Bearer ${megabyte}\r\n\r\n`,
  ])
  expect(status).toBe(401)
  const other = 'ApiKey realm="Other", in="header", name="X-API-Key"'
  expect(responseHead).toContain(`www-authenticate: ${other}, ${challenge}\r\n`.toLowerCase())
})

it.each([17_000, 60_000])(
  'a token of %d bytes over HTTP/2 and gRPC is read and rejected with a challenge',
  async (size) => {
    const { server } = await start({ grpc: true })
    const authorization = `Bearer ${'x'.repeat(size)}`
    const session = connectHttp2(server.url, { maxSendHeaderBlockLength: 2 ** 24 })
    onTestFinished(() => session.destroy())
    const stream = session.request({ ':path': '/tasks', 'a2a-version': '1.0', authorization })
    const response = await new Promise<object>((resolve, reject) => stream.on('response', resolve).on('error', reject))
    expect(response).toMatchObject({ ':status': 401, 'www-authenticate': challenge })
    const failed = await grpcClient(server.port)
      .unary('lf.a2a.v1.A2AService/GetTask', { id: 't' }, { metadata: { authorization } })
      .catch((error) => error)
    expect(failed).toMatchObject({ code: 16, details: 'The credentials were not accepted.' })
    expect(failed.metadata.get('www-authenticate')).toEqual([challenge])
  },
)

// The header compression state is lost, so RFC 9113 §4.3 requires closing the connection.
it('a token of one megabyte over HTTP/2 closes its connection and no other', async () => {
  const { server, issuer } = await start({ grpc: true })
  expect(await outcomeOverHttp2(server.url, { authorization: `Bearer ${megabyte}` })).toMatch(/^(ERR_HTTP2|ECONNRESET)/)
  expect(await getOverHttp2(server.port, [`Bearer ${await issuer.token()}`])).toContain('"tasks"')
})
