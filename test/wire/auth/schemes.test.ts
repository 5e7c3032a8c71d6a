import { describe, expect, it } from 'vitest'
import { encodeCardAs } from '../../../src/core/dialects/served-card.ts'
import { v0_1 } from '../../../src/core/dialects/v0.1/server.ts'
import { v0_2Client } from '../../../src/core/dialects/v0.2/client.ts'
import { v0_3Client } from '../../../src/core/dialects/v0.3/client.ts'
import { v0_3ProtoClient } from '../../../src/core/dialects/v0.3-proto/client.ts'
import { v0_3Proto } from '../../../src/core/dialects/v0.3-proto/server.ts'
import { v1_0Client } from '../../../src/core/dialects/v1.0/client.ts'
import type { AgentCard, SecurityRequirement, SecurityScheme } from '../../../src/core/protocol/card.ts'
import { cardOf } from '../../../src/core/server/card.ts'
import {
  type AuthOptions,
  apiKey,
  basic,
  custom,
  hashApiKey,
  hashPassword,
  jwt,
  mutualTls,
  oauth2,
  openId,
} from '../../../src/entries/auth.ts'
import { audience, startIssuer } from '../../support/auth/token-issuer.ts'
import { grpcClient, readAll } from '../../support/grpc/grpc-client.ts'
import { startHttpServer } from '../../support/servers/http-server.ts'
import { startTestServer } from '../../support/servers/test-server.ts'

/** The credentials in a request. */
interface Shown {
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
}

interface Declared {
  readonly auth: AuthOptions
  readonly good: Shown
  readonly bad: Shown
  /** The start of `WWW-Authenticate`. */
  readonly challenge: string
  /** Set for credentials in the query, which gRPC does not have. */
  readonly isOnlyOfHttp?: true
}

const keys = [{ id: 'alice', hash: await hashApiKey('good') }]
const authorization = (value: string): Shown => ({ headers: { authorization: value } })
const flow = {
  type: 'client-credentials',
  tokenUrl: 'https://login.test/token',
  scopes: { read: 'Reads', write: 'Writes' },
} as const

async function tokens(schemeOf: (issuer: Awaited<ReturnType<typeof startIssuer>>) => Promise<Declared['auth']>) {
  const issuer = await startIssuer()
  const auth = await schemeOf(issuer)
  const good = authorization(`Bearer ${await issuer.token()}`)
  return {
    auth,
    good,
    bad: authorization(`Bearer ${await issuer.token({ aud: 'other' })}`),
    challenge: 'Bearer realm=',
  }
}

/** An introspection endpoint with one active token (RFC 7662). */
async function introspected(): Promise<Declared> {
  const url = await startHttpServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const isKnown = new URLSearchParams(body).get('token') === 'opaque'
    const answer = isKnown ? { active: true, sub: 'alice', scope: 'read' } : { active: false }
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
  })
  const introspection = { url, clientId: 'agent', clientSecret: 'secret' }
  const auth = { schemes: { corp: oauth2({ flow, introspection }) } }
  return {
    auth,
    good: authorization('Bearer opaque'),
    bad: authorization('Bearer other'),
    challenge: 'Bearer realm=',
  }
}

const oneOrOther: readonly SecurityRequirement[] = [{ key: [] }, { magic: [] }]
const both: Shown = { headers: { 'x-api-key': 'good', authorization: 'Magic word' } }
const magic = custom({
  card: { type: 'http', scheme: 'Magic' },
  authenticate: ({ header }) => header('authorization') === 'Magic word' && { id: 'alice' },
})

const schemes: Readonly<Record<string, () => Promise<Declared>>> = {
  'an API key in a header': async () => ({
    auth: { schemes: { key: apiKey({ keys }) } },
    good: { headers: { 'x-api-key': 'good' } },
    bad: { headers: { 'x-api-key': 'bad' } },
    challenge: 'ApiKey realm="Test", in="header", name="X-API-Key"',
  }),
  'an API key in the query': async () => ({
    auth: { schemes: { key: apiKey({ in: 'query', name: 'key', keys }) } },
    good: { query: '?key=good' },
    bad: { query: '?key=bad' },
    challenge: 'ApiKey realm="Test", in="query", name="key"',
    isOnlyOfHttp: true,
  }),
  'an API key in a cookie': async () => ({
    auth: { schemes: { key: apiKey({ in: 'cookie', name: 'key', keys }) } },
    good: { headers: { cookie: 'a=b; key=good' } },
    bad: { headers: { cookie: 'a=b; key=bad' } },
    challenge: 'ApiKey realm="Test", in="cookie", name="key"',
  }),
  'a user name and password': async () => ({
    auth: { schemes: { users: basic({ users: { alice: { password: await hashPassword('open') } } }) } },
    good: authorization(`Basic ${btoa('alice:open')}`),
    bad: authorization(`Basic ${btoa('alice:shut')}`),
    challenge: 'Basic realm="Test", charset="UTF-8"',
  }),
  'a JWT verified with keys from a URL': () =>
    tokens(async ({ url, keysUrl }) => ({ schemes: { corp: jwt({ issuer: url, audience, keys: { url: keysUrl } }) } })),
  'a JWT verified with static keys': () =>
    tokens(async ({ url, keysUrl }) => {
      const { keys: jwks } = await (await fetch(keysUrl)).json()
      return { schemes: { corp: jwt({ issuer: url, audience, keys: { jwks }, algorithms: ['ES256'] }) } }
    }),
  'OpenID Connect': () => tokens(async ({ url }) => ({ schemes: { corp: openId({ issuer: url, audience }) } })),
  'OAuth2 with scopes': () =>
    tokens(async ({ url, keysUrl }) => ({
      schemes: { corp: oauth2({ flow, jwt: { issuer: url, audience, keys: { url: keysUrl } } }) },
      require: [{ corp: ['read', 'write'] }],
    })),
  'OAuth2 with introspection': introspected,
  'a custom scheme': async () => ({
    auth: { schemes: { magic } },
    good: authorization('Magic word'),
    bad: authorization('Magic wand'),
    challenge: 'Magic realm="Test"',
  }),
  'two required schemes': async () => ({
    auth: { schemes: { key: apiKey({ keys }), magic }, require: [{ key: [], magic: [] }] },
    good: both,
    bad: { headers: { 'x-api-key': 'good' } },
    challenge: 'ApiKey realm="Test", in="header", name="X-API-Key", Magic realm="Test"',
  }),
  'two alternative schemes': async () => ({
    auth: { schemes: { key: apiKey({ keys }), magic }, require: oneOrOther },
    good: authorization('Magic word'),
    bad: { headers: { 'x-api-key': 'bad' } },
    challenge: 'ApiKey realm="Test", in="header", name="X-API-Key", Magic realm="Test"',
  }),
}

const params = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } }

interface Outcome {
  readonly isLetIn: boolean
  /** The whole response body. */
  readonly text: string
  readonly challenge: string
}

type Way = (port: number, shown: Shown) => Promise<Outcome>

function overHttp(path: string, method?: string): Way {
  return async (port, { headers = {}, query = '' }) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers },
      body: JSON.stringify(method ? { jsonrpc: '2.0', id: 1, method, params } : params),
    })
    expect([200, 401]).toContain(response.status)
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    const isLetIn = response.status === 200
    expect(isStream).toBe(isLetIn && /stream/i.test(`${path} ${method}`))
    return { isLetIn, text: await response.text(), challenge: response.headers.get('www-authenticate') ?? '' }
  }
}

const ways: Readonly<Record<string, Way>> = {
  'JSON-RPC': overHttp('/', 'SendMessage'),
  'JSON-RPC streaming': overHttp('/', 'SendStreamingMessage'),
  REST: overHttp('/message:send'),
  'REST streaming': overHttp('/message:stream'),
  gRPC: async (port, { headers = {} }) => {
    const asked = grpcClient(port).unary('lf.a2a.v1.A2AService/SendMessage', params, { metadata: headers })
    return await asked.then(
      (answer) => ({ isLetIn: true, text: JSON.stringify(answer), challenge: '' }),
      ({ code, details, metadata }) => {
        expect(code).toBe(16)
        return { isLetIn: false, text: details, challenge: `${metadata.get('www-authenticate')[0]}` }
      },
    )
  },
  'gRPC streaming': async (port, { headers = {} }) => {
    const method = 'lf.a2a.v1.A2AService/SendStreamingMessage'
    const { messages, status } = await readAll(grpcClient(port).stream(method, params, { metadata: headers }))
    expect([0, 16]).toContain(status.code)
    const challenge = `${status.metadata.get('www-authenticate')[0] ?? ''}`
    return { isLetIn: status.code === 0, text: JSON.stringify(messages) + status.details, challenge }
  },
}

describe.each(Object.keys(schemes))('%s', (name) => {
  it('valid credentials are admitted and others are challenged, over HTTP, SSE and gRPC', async () => {
    const { auth, good, bad, challenge, isOnlyOfHttp } = (await schemes[name]?.()) ?? expect.fail('is declared')
    const { server } = await startTestServer(async (turn) => `I know ${turn.principal.id}`, { auth, grpc: true })
    for (const [way, ask] of Object.entries(ways)) {
      const letIn = isOnlyOfHttp && way.includes('gRPC') ? undefined : await ask(server.port, good)
      if (letIn)
        expect({ way, ...letIn }).toMatchObject({ isLetIn: true, text: expect.stringContaining('I know alice') })
      for (const shown of [bad, {}]) {
        const refused = await ask(server.port, shown)
        expect({ way, shown, ...refused }).toMatchObject({
          isLetIn: false,
          challenge: expect.stringMatching(new RegExp(`^${challenge}`)),
        })
        expect(refused.text).not.toContain('I know')
      }
    }
  })
})

describe('schemes on cards', () => {
  const declared: Readonly<Record<string, SecurityScheme>> = {
    header: apiKey({ keys, description: 'Ask us' }).card,
    query: apiKey({ in: 'query', name: 'k', keys }).card,
    cookie: apiKey({ in: 'cookie', name: 'k', keys }).card,
    users: { type: 'http', scheme: 'basic' },
    token: jwt({ issuer: 'https://i.test', audience, keys: { url: 'https://i.test/jwks' } }).card,
    oidc: openId({ issuer: 'https://i.test', audience }).card,
    oauth: oauth2({
      flow,
      metadataUrl: 'https://i.test/.well-known/oauth-authorization-server',
      introspection: { url: 'https://i.test/look', clientId: 'a', clientSecret: 'b' },
    }).card,
    certificate: mutualTls().card,
    own: magic.card,
  }
  const security: readonly SecurityRequirement[] = [{ oauth: ['read'], header: [] }, { certificate: [] }, { token: [] }]
  const skillSecurity: readonly SecurityRequirement[] = [{ oauth: ['write'] }, { oidc: ['admin'], certificate: [] }]
  const interfaces = ['1.0', '0.3', '0.2', '0.1'].map((protocolVersion) => {
    return { url: 'https://a.test/', binding: 'JSONRPC', protocolVersion } as const
  })
  const card: AgentCard = {
    ...cardOf({ name: 'Test', skills: [{ id: 'pay', name: 'Pay', security: skillSecurity }] }),
    interfaces,
    securitySchemes: declared,
    security,
  }

  it.each([
    ['1.0', v1_0Client.decodeCard(encodeCardAs('1.0', card))],
    ['1.0, from a hybrid card', v1_0Client.decodeCard(encodeCardAs('hybrid', card))],
    ['0.3', v0_3Client.decodeCard(encodeCardAs('0.3', card))],
    ['0.3, from a hybrid card', v0_3Client.decodeCard(encodeCardAs('hybrid', card))],
    ['0.3 ProtoJSON', v0_3ProtoClient.decodeCard(v0_3Proto.encodeCard(card))],
  ])('schemes and the requirements of agent and skills are decoded as declared: %s', (_, read) => {
    expect(read.securitySchemes).toEqual(declared)
    expect(read.security).toEqual(security)
    expect(read.skills[0]?.security).toEqual(skillSecurity)
  })

  it('0.2 clients read every scheme that 0.2 has, and 0.1 clients the names of the required schemes', () => {
    const { certificate: _, ...known } = declared
    expect(v0_2Client.decodeCard(encodeCardAs('legacy', card)).securitySchemes).toMatchObject(
      Object.fromEntries(Object.keys(known).map((name) => [name, { type: declared[name]?.type }])),
    )
    expect(v0_1.encodeCard(card).authentication).toMatchObject({
      schemes: expect.arrayContaining(['ApiKey', 'Bearer']),
    })
  })
})
