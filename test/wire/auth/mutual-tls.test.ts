import { Agent, type RequestOptions, request } from 'node:https'
import type { TLSSocket } from 'node:tls'
import { credentials } from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { MutualTlsOptions } from '../../../src/core/auth/schemes/mutual-tls.ts'
import { type AuthOptions, apiKey, hashApiKey, mutualTls } from '../../../src/entries/auth.ts'
import { type CertificateAndKey, createCertificate } from '../../support/auth/certificates.ts'
import { grpcClient } from '../../support/grpc/grpc-client.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'

const authority = createCertificate({ commonName: 'Acme CA' })
const serverPair = createCertificate({ commonName: 'localhost', dns: ['localhost'], issuer: authority })
const billing = createCertificate({
  commonName: 'billing',
  organization: 'Acme, Inc.',
  dns: ['billing.acme.test'],
  uris: ['spiffe://acme.test/billing'],
  issuer: authority,
})
const stranger = createCertificate({
  commonName: 'billing',
  organization: 'Acme, Inc.',
  uris: ['spiffe://acme.test/billing'],
})
const expired = createCertificate({
  commonName: 'billing',
  uris: ['spiffe://acme.test/billing'],
  validUntil: '210101',
  issuer: authority,
})

const tls = { key: serverPair.key, cert: serverPair.cert, ca: authority.cert }

function open(options: MutualTlsOptions = {}, more: AuthOptions = {}, serverOptions: TestServerOptions = {}) {
  return startTestServer(async (turn) => turn.principal.id, {
    auth: { ...more, schemes: { mtls: mutualTls(options), ...more.schemes } },
    tls,
    grpc: true,
    ...serverOptions,
  })
}

const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }

interface Answer {
  readonly status: number | undefined
  readonly body: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly protocol: string | false | null
  readonly isReused: boolean
}

/** Sends a message over HTTP/1.1, or gets a page, with or without a certificate. */
function ask(
  port: number,
  pair?: CertificateAndKey,
  headers: Readonly<Record<string, string>> = {},
  more: RequestOptions = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request({
      ...{ host: 'localhost', port, path: '/message:send', method: 'POST', agent: false, ca: authority.cert },
      ...(pair && { key: pair.key, cert: pair.cert }),
      headers: { 'content-type': 'application/json', ...headers },
      ...more,
    })
    call.on('error', reject)
    call.on('response', async (response) => {
      const { alpnProtocol: protocol } = response.socket as TLSSocket
      let body = ''
      for await (const chunk of response) body += chunk
      resolve({ status: response.statusCode, body, headers: response.headers, protocol, isReused: call.reusedSocket })
    })
    call.end(more.method === 'GET' ? undefined : JSON.stringify({ message }))
  })
}

describe('a client certificate', () => {
  it.each([
    [{}, 'CN=billing,O=Acme\\\\, Inc.'],
    [{ id: 'dns' }, 'billing.acme.test'],
    [{ id: 'spiffe', trustDomain: 'acme.test' }, 'spiffe://acme.test/billing'],
  ] as const)('the principal over HTTPS with the options %j is %s', async (options, id) => {
    const { server } = await open(options)
    const { status, body } = await ask(server.port, billing)
    expect({ status, said: body.includes(`"text":"${id}"`), url: server.url.slice(0, 5) }).toEqual({
      status: 200,
      said: true,
      url: 'https',
    })
  })

  it('a certificate identifies the caller over gRPC, and a call without one is rejected', async () => {
    const { server } = await open({ id: 'spiffe' })
    const shown = credentials.createSsl(
      Buffer.from(authority.cert),
      Buffer.from(billing.key),
      Buffer.from(billing.cert),
    )
    const client = grpcClient(server.port, {}, { host: 'localhost', credentials: shown })
    const answer = await client.unary('lf.a2a.v1.A2AService/SendMessage', { message })
    expect(answer.message.parts).toMatchObject([{ text: 'spiffe://acme.test/billing' }])
    const without = grpcClient(
      server.port,
      {},
      {
        host: 'localhost',
        credentials: credentials.createSsl(Buffer.from(authority.cert)),
      },
    )
    await expect(without.unary('lf.a2a.v1.A2AService/SendMessage', { message })).rejects.toMatchObject({ code: 16 })
  })

  it.each<[string, CertificateAndKey | undefined]>([
    ['a missing certificate', undefined],
    ['a certificate of another authority', stranger],
    ['an expired certificate', expired],
  ])('%s gets 401 with a challenge', async (_, pair) => {
    const { server } = await open({ id: 'spiffe' })
    const { status, headers } = await ask(server.port, pair)
    expect(status).toBe(401)
    expect(headers['www-authenticate']).toContain('MutualTLS realm="Test"')
  })

  it('a card that requires credentials is sent to callers with a certificate only', async () => {
    const { server } = await open({}, {}, { card: { auth: true } })
    const card = { path: '/.well-known/agent-card.json', method: 'GET' }
    expect(await ask(server.port, undefined, {}, card)).toMatchObject({ status: 401 })
    expect(await ask(server.port, stranger, {}, card)).toMatchObject({ status: 401 })
    const { status, body } = await ask(server.port, billing, {}, card)
    expect({ status, name: JSON.parse(body).name }).toEqual({ status: 200, name: 'Test' })
  })

  it('an operator can have connections without a valid certificate refused, and with them every page', async () => {
    const { server } = await open({}, {}, { tls: { ...tls, requestCert: true, rejectUnauthorized: true } })
    const card = { path: '/.well-known/agent-card.json', method: 'GET' }
    expect(await ask(server.port, billing, {}, card)).toMatchObject({ status: 200 })
    for (const pair of [undefined, stranger, expired]) {
      await expect(ask(server.port, pair, {}, card)).rejects.toThrow()
    }
    await expect(open({}, {}, { tls: { ...tls, requestCert: false } })).rejects.toThrow(
      'tls.requestCert: expected true, since a scheme in auth needs certificates',
    )
  })

  it('an expiring certificate ends its streams, and later calls on the same connection get 401', async () => {
    const end = Math.ceil(Date.now() / 1000 + 2) * 1000
    const until = new Date(end).toISOString().replace(/^..|[-T:]|\..*$/g, '')
    const brief = createCertificate({
      commonName: 'brief',
      dns: ['brief.acme.test'],
      validUntil: until,
      issuer: authority,
    })
    const { server } = await startTestServer(
      async (turn) => {
        await turn.status('working')
        await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      },
      {
        auth: { schemes: { mtls: mutualTls({ id: 'dns' }) } },
        tls: { key: serverPair.key, cert: serverPair.cert, ca: authority.cert },
        drainDeadline: 0,
      },
    )
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    onTestFinished(() => agent.destroy())
    const streamed = await ask(server.port, brief, {}, { agent, path: '/message:stream' })
    expect(streamed).toMatchObject({ status: 200, isReused: false })
    expect(streamed.body).toContain('TASK_STATE_WORKING')
    expect(streamed.body).toContain('UNAUTHENTICATED')
    expect(Date.now()).toBeGreaterThanOrEqual(end - 50)
    await expect.poll(() => Date.now()).toBeGreaterThan(end)
    expect(await ask(server.port, brief, {}, { agent })).toMatchObject({ status: 401, isReused: true })
  })

  it('a certificate can be required in addition to a key, or accepted instead of one', async () => {
    const key = apiKey({ keys: [{ id: 'ci', hash: await hashApiKey('k') }] })
    const both = await open({ id: 'dns' }, { schemes: { key }, require: [{ mtls: [], key: [] }] })
    const header = { 'x-api-key': 'k' }
    const { port } = both.server
    const asked = await Promise.all([ask(port, billing, header), ask(port, billing), ask(port, undefined, header)])
    expect(asked.map(({ status }) => status)).toEqual([200, 401, 401])
    const either = await open({ id: 'dns' }, { schemes: { key } })
    const answers = await Promise.all([ask(either.server.port, billing), ask(either.server.port, undefined, header)])
    expect(answers.map(({ status }) => status)).toEqual([200, 200])
  })
})

it('a server with mutualTls but without tls fails to start', async () => {
  await expect(startTestServer(async () => 'x', { auth: { schemes: { mtls: mutualTls() } } })).rejects.toThrow(
    'give `tls`',
  )
})
