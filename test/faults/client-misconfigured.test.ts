import { createServer as createTlsServer } from 'node:https'
import { createServer as createTcpServer } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/core/client/connect.ts'
import type { Misconfiguration } from '../../src/core/client/diagnostics/hints.ts'
import type { ConnectOptions, Notice } from '../../src/core/client/options.ts'
import type { A2AError } from '../../src/core/protocol/errors.ts'
import { countingAgent, describeEvent } from '../contracts/service/contract.ts'
import { collect } from '../support/async.ts'
import { selfSigned } from '../support/auth/certificates.ts'
import {
  closedPort,
  listenOnFreePort,
  respondWith,
  respondWithRpcError,
  rpcCard,
  startScriptedPeer,
} from '../support/servers/http-server.ts'
import { startTestServer } from '../support/servers/test-server.ts'

const delays = { minDelay: 1, maxDelay: 2 }
const quick = { tries: 2, ...delays }
const bearer = { authorize: () => ({ headers: { authorization: 'Bearer x' } }) }

/** The error that a client gets when it connects to this origin and sends a message. */
async function failureAt(origin: string, options: ConnectOptions = {}): Promise<A2AError> {
  try {
    const client = await connect(origin, { retry: quick, resume: quick, ...options })
    await client.send('hello')
  } catch (error) {
    return error as A2AError
  }
  throw new Error('the call succeeded')
}

interface Case {
  readonly reason: Misconfiguration
  readonly start: () => Promise<string>
  readonly options?: ConnectOptions
  readonly expected: { readonly code: string; readonly status?: number; readonly hint: RegExp }
}

/** A TLS server with an untrustedServer certificate. */
async function untrustedServer(): Promise<string> {
  const server = createTlsServer(selfSigned(), respondWith(200, rpcCard('')))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return `https://localhost:${await listenOnFreePort(server)}`
}

async function smtpServer(): Promise<string> {
  const server = createTcpServer(
    (socket) => void socket.once('data', () => socket.end('220 smtp.example.com ESMTP\r\n')),
  )
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${await listenOnFreePort(server)}`
}

const serving = (answer: NonNullable<Parameters<typeof startScriptedPeer>[0]['answer']>) => () =>
  startScriptedPeer({ answer })
const challenge = (text: string) => ({ 'www-authenticate': text })

const cases: readonly Case[] = [
  {
    reason: 'connection-refused',
    start: async () => `http://127.0.0.1:${await closedPort()}`,
    expected: { code: 'unavailable', hint: /Start the agent/ },
  },
  {
    reason: 'name-not-found',
    start: async () => 'http://agent.invalid',
    expected: { code: 'unavailable', hint: /agent\.invalid/ },
  },
  {
    reason: 'local-address',
    async start() {
      const port = await closedPort()
      return await startScriptedPeer({ card: () => rpcCard(`http://localhost:${port}`) })
    },
    expected: { code: 'unavailable', hint: /names http:\/\/localhost:\d+\/rpc, which only its own machine can reach/ },
  },
  {
    reason: 'certificate',
    start: untrustedServer,
    expected: { code: 'unavailable', hint: /certificate that is trusted/ },
  },
  {
    reason: 'not-tls',
    start: async () => (await startScriptedPeer({})).replace('http:', 'https:'),
    expected: { code: 'unavailable', hint: /speaks plain HTTP/ },
  },
  {
    reason: 'needs-https',
    start: serving(respondWith(400, '<h1>400</h1> The plain HTTP request was sent to HTTPS port')),
    expected: { code: 'invalid-params', status: 400, hint: /https:\/\// },
  },
  { reason: 'not-http', start: smtpServer, expected: { code: 'unavailable', hint: /check the port/ } },
  {
    reason: 'redirect-loop',
    start: serving((request, response) => void response.writeHead(307, { location: request.url }).end()),
    expected: { code: 'unavailable', hint: /lead back to themselves/ },
  },
  {
    reason: 'redirected',
    start: serving((request, response) =>
      request.url === '/rpc'
        ? void response.writeHead(301, { location: '/rpc/' }).end()
        : void response.writeHead(405).end(),
    ),
    expected: { code: 'method-not-found', status: 405, hint: /turned the call into a GET: put http:.*\/rpc\/ itself/ },
  },
  {
    reason: 'wrong-path',
    start: () => startScriptedPeer({}),
    expected: { code: 'method-not-found', status: 404, hint: /correct the path in the card/ },
  },
  {
    reason: 'html',
    start: serving(respondWith(200, '<!doctype html><title>Welcome</title>', { 'content-type': 'text/html' })),
    expected: { code: 'invalid-agent-response', hint: /is a web page/ },
  },
  {
    reason: 'not-json',
    start: serving(respondWith(200, 'OK', { 'content-type': 'text/plain' })),
    expected: { code: 'invalid-agent-response', hint: /is no agent/ },
  },
  {
    reason: 'not-a2a',
    start: serving(respondWith(200, { ok: true })),
    expected: { code: 'invalid-agent-response', hint: /another JSON service/ },
  },
  {
    reason: 'mixed-versions',
    start: serving(
      respondWith(200, {
        jsonrpc: '2.0',
        id: 1,
        result: { message: { messageId: 'm', role: 'agent', parts: [{ kind: 'text', text: 'Hello.' }] } },
      }),
    ),
    expected: { code: 'invalid-agent-response', hint: /with the objects of an older version/ },
  },
  {
    reason: 'gateway',
    start: serving(respondWith(502, '<html>Bad Gateway</html>', { 'content-type': 'text/html' })),
    expected: { code: 'unavailable', status: 502, hint: /the agent behind it does not/ },
  },
  {
    reason: 'card-not-found',
    start: async () => `${await startScriptedPeer({})}/somewhere.json`,
    expected: { code: 'invalid-agent-response', hint: /Serve the card at \/\.well-known\/agent-card\.json/ },
  },
  {
    reason: 'not-a-card',
    start: () => startScriptedPeer({ card: () => ({ name: 'Agent', supportedInterfaces: [{ nothing: 1 }] }) }),
    expected: { code: 'invalid-agent-response', hint: /must have a name, and supportedInterfaces/ },
  },
  {
    reason: 'card-protected',
    start: async () => `${await startScriptedPeer({ answer: respondWith(401, '', challenge('Bearer')) })}/card.json`,
    expected: { code: 'unauthenticated', status: 401, hint: /Even the card requires credentials/ },
  },
  {
    reason: 'credentials-missing',
    start: () =>
      startScriptedPeer({
        card: (origin) =>
          rpcCard(origin, { securitySchemes: { jwt: { httpAuthSecurityScheme: { scheme: 'bearer' } } } }),
        answer: respondWith(401, '', challenge('Bearer')),
      }),
    expected: { code: 'unauthenticated', status: 401, hint: /auth option for jwt/ },
  },
  {
    reason: 'credentials-refused',
    start: serving(respondWith(401, '', challenge('Bearer error="invalid_token", error_description="expired"'))),
    options: bearer,
    expected: { code: 'unauthenticated', hint: /wrong, expired or of the wrong kind/ },
  },
  {
    reason: 'wrong-audience',
    start: serving(respondWith(401, '', challenge('Bearer error="invalid_token", error_description="wrong audience"'))),
    options: bearer,
    expected: { code: 'unauthenticated', hint: /whose audience is 127\.0\.0\.1:\d+/ },
  },
  {
    reason: 'scope-missing',
    start: serving(respondWith(403, '', challenge('Bearer error="insufficient_scope", scope="tasks:write"'))),
    options: bearer,
    expected: { code: 'forbidden', hint: /scope="tasks:write"/ },
  },
  {
    reason: 'not-allowed',
    start: serving(respondWith(403, { error: 'no' })),
    options: bearer,
    expected: { code: 'forbidden', hint: /do not permit this/ },
  },
  {
    reason: 'version-skew',
    start: serving(respondWithRpcError({ code: -32601, message: 'Method not found' })),
    expected: { code: 'method-not-found', hint: /names A2A 1\.0, but the agent does not speak 1\.0/ },
  },
  {
    reason: 'extension-missing',
    start: () =>
      startScriptedPeer({
        card: (origin) =>
          rpcCard(origin, { capabilities: { extensions: [{ uri: 'https://example.com/ext', required: true }] } }),
        answer: respondWithRpcError({ code: -32008, message: 'Extension required' }),
      }),
    expected: { code: 'extension-required', hint: /extensions: \["https:\/\/example\.com\/ext"\]/ },
  },
  {
    reason: 'tenant-missing',
    start: serving(
      respondWithRpcError({
        code: -32602,
        message: 'tenant: missing',
        data: [
          {
            '@type': 'type.googleapis.com/google.rpc.BadRequest',
            fieldViolations: [{ field: 'tenant', description: 'missing' }],
          },
        ],
      }),
    ),
    expected: { code: 'invalid-params', hint: /must name the tenant/ },
  },
  {
    reason: 'too-many-calls',
    start: serving(respondWith(429, '', { 'retry-after': '3600' })),
    expected: { code: 'rate-limited', status: 429, hint: /Wait 3600 seconds/ },
  },
  {
    reason: 'request-too-large',
    start: serving(respondWith(413, '<html>Too large</html>')),
    expected: { code: 'payload-too-large', status: 413, hint: /by url instead of raw/ },
  },
  {
    reason: 'content-type-lost',
    start: serving(respondWith(415, '')),
    expected: { code: 'content-type-not-supported', status: 415, hint: /application\/json/ },
  },
  {
    reason: 'no-common-interface',
    start: () =>
      startScriptedPeer({
        card: () => ({ name: 'x', supportedInterfaces: [{ url: 'h:1', protocolBinding: 'GRPC' }] }),
      }),
    expected: { code: 'unsupported-operation', hint: /offers GRPC 1\.0 at h:1/ },
  },
]

describe('the error names the misconfiguration', () => {
  it.each(cases)('$reason', async ({ reason, start, options, expected }) => {
    const { hint, ...fields } = expected
    const error = await failureAt(await start(), options)
    expect(error).toMatchObject({ name: 'A2AError', reason, ...fields })
    expect(error.hint).toMatch(hint)
  })
})

describe('the client works around a misconfiguration and reports it', () => {
  async function noticesOf(origin: string, text: string) {
    const notices: Notice[] = []
    const client = await connect(origin, {
      polling: delays,
      resume: quick,
      onNotice: (notice) => notices.push(notice),
    })
    return { notices, events: await collect(client.stream(text)) }
  }

  it('an agent that does not stream, contrary to its card, is polled', async () => {
    const task = {
      id: 't',
      contextId: 'c',
      status: { state: 'TASK_STATE_COMPLETED', timestamp: '2026-05-01T08:00:00.000Z' },
    }
    const origin = await startScriptedPeer({
      async answer(request, response) {
        const { id, method } = JSON.parse(Buffer.concat(await request.toArray()).toString())
        const refusal = { error: { code: -32004, message: 'Streaming is not supported' } }
        response.setHeader('content-type', 'application/json')
        response.end(
          JSON.stringify({ jsonrpc: '2.0', id, ...(method === 'SendMessage' ? { result: { task } } : refusal) }),
        )
      },
    })
    const { notices, events } = await noticesOf(origin, 'x')
    expect(events.map(describeEvent)).toEqual(['task completed'])
    expect(notices).toMatchObject([{ type: 'polling', message: expect.stringContaining('Streaming is not supported') }])
  })

  it('a proxy that buffers events is reported', async () => {
    const updateAt = (seconds: number, state: string) => ({
      statusUpdate: {
        taskId: 't',
        contextId: 'c',
        status: { state: `TASK_STATE_${state}`, timestamp: `2026-05-01T08:00:0${seconds}.000Z` },
      },
    })
    const events = [updateAt(0, 'WORKING'), updateAt(4, 'WORKING'), updateAt(8, 'COMPLETED')]
    const body = events.map((result) => `data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result })}\n\n`).join('')
    const answer = respondWith(200, body, { 'content-type': 'text/event-stream' })
    const { notices } = await noticesOf(await startScriptedPeer({ answer }), 'x')
    expect(notices).toMatchObject([{ type: 'buffered', hint: expect.stringMatching(/switch off buffering/) }])
  })

  it('a card with a wrong path or a local address is corrected', async () => {
    const { server } = await startTestServer(countingAgent)
    const port = await closedPort()
    for (const wrong of [`${server.url}/wrong`, `http://localhost:${port}/`]) {
      const notices: Notice[] = []
      const card = {
        name: 'x',
        supportedInterfaces: [{ url: wrong, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
      }
      const fetch = (url: string, init: RequestInit) =>
        url.includes('.well-known') ? Promise.resolve(Response.json(card)) : globalThis.fetch(url, init)
      const client = await connect(server.url, { fetch, onNotice: (notice) => notices.push(notice) })
      expect((await client.send('hello')).text).toBe('hi')
      expect(notices).toMatchObject([
        { type: 'fallback-endpoint', hint: `Correct the card: it should name ${server.url}/ as JSONRPC.` },
      ])
    }
  })
})
