import type { ServiceError } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { agent } from '../../../src/core/agent/agent.ts'
import { createHost } from '../../../src/core/server/host.ts'
import { type AuthOptions, apiKey, custom, hashApiKey } from '../../../src/entries/auth.ts'
import { serve } from '../../../src/serve/serve.ts'
import { grpcClient, readAll } from '../../support/grpc/grpc-client.ts'
import { silentLogger } from '../../support/logger.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'
import { jsonRpc } from '../../support/wire/json-rpc.ts'
import { createWireClient } from '../../support/wire/wire-client.ts'

const keys = [
  { id: 'ada', tenant: 'acme', scopes: ['call', 'pay'], hash: await hashApiKey('ada-key') },
  { id: 'bob', scopes: ['call'], hash: await hashApiKey('bob-key') },
]
const auth: AuthOptions = { schemes: { key: apiKey({ keys }) } }
const ada = { 'x-api-key': 'ada-key' }
const bob = { 'x-api-key': 'bob-key' }
const challenge = 'ApiKey realm="Test", in="header", name="X-API-Key"'

function start(options: TestServerOptions = {}) {
  return startTestServer(async (turn) => JSON.stringify(turn.principal), { auth, grpc: true, ...options })
}

/** A message in each dialect. */
const sends = {
  '1.0': ['SendMessage', { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } }],
  '0.3': [
    'message/send',
    { message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] } },
  ],
  '0.1': ['tasks/send', { id: 't', message: { role: 'user', parts: [{ type: 'text', text: 'x' }] } }],
} as const

describe('a caller without credentials', () => {
  it.each([
    ['1.0', -31401],
    ['0.3', -31401],
    ['0.1', -32007],
  ] as const)('a %s JSON-RPC caller gets 401, a challenge, its request id and error %d', async (version, code) => {
    const { wire } = await start()
    const [method, params] = sends[version]
    const response = await wire.post({ jsonrpc: '2.0', id: 'mine', method, params }, { 'a2a-version': version })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(challenge)
    expect(await response.json()).toMatchObject({ id: 'mine', error: { code } })
  })

  it('a caller whose request is invalid or too long to inspect gets 401 as well', async () => {
    const { wire } = await start()
    for (const body of [
      '{',
      '[]',
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'x', params: 'x'.repeat(2 ** 20) }),
    ]) {
      const response = await wire.post(body)
      expect(response.status).toBe(401)
      expect(await response.json()).toMatchObject({ id: null, error: { code: -31401 } })
    }
  })

  it.each([
    ['GET', '/tasks'],
    ['GET', '/tasks/t'],
    ['GET', '/v1/tasks/t'],
    ['POST', '/message:send'],
    ['POST', '/v1/message:stream'],
    ['GET', '/extendedAgentCard'],
    ['GET', '/agent/authenticatedExtendedCard'],
  ])('a REST caller gets 401: %s %s', async (method, path) => {
    const { server } = await start({ extendedCard: {} })
    const response = await fetch(`${server.url}${path}`, { method })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(challenge)
    expect(await response.json()).toMatchObject({ error: { code: 401, status: 'UNAUTHENTICATED' } })
  })

  it('a gRPC caller gets UNAUTHENTICATED for unary calls and streams', async () => {
    const { server } = await start()
    const client = grpcClient(server.port)
    const unary = client.unary('lf.a2a.v1.A2AService/GetTask', { id: 't' })
    await expect(unary).rejects.toMatchObject({ code: 16 })
    const error: ServiceError = await unary.catch((failure) => failure)
    expect(error.metadata.get('www-authenticate')).toEqual([challenge])
    const { status, messages } = await readAll(client.stream('a2a.v1.A2AService/TaskSubscription', { name: 'tasks/t' }))
    expect({ code: status.code, messages }).toEqual({ code: 16, messages: [] })
  })

  it('a caller without credentials reads the public card and the health page', async () => {
    const { server } = await start()
    expect((await fetch(server.cardUrl)).status).toBe(200)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  })
})

describe('a caller with credentials', () => {
  const principal = { id: 'ada', tenant: 'acme', scopes: ['call', 'pay'], grants: { key: ['call', 'pay'] } }

  it('the agent sees the same principal in every dialect and binding', async () => {
    const { server, wire } = await start()
    const text = ({ parts: [part] }: { parts: { text?: string }[] }) => JSON.parse(part?.text ?? '')
    const v10 = await wire.result<{ message: { parts: { text: string }[] } }>(...sends['1.0'], ada)
    expect(text(v10.message)).toEqual(principal)
    const v03 = await jsonRpc(wire.url, ada).call(...sends['0.3'])
    expect(text(v03.result)).toEqual(principal)
    const v01 = await jsonRpc(wire.url, ada).call(...sends['0.1'])
    expect(text(v01.result.status.message)).toEqual(principal)
    const rest = await fetch(`${server.url}/message:send`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...ada },
      body: JSON.stringify(sends['1.0'][1]),
    })
    expect(text((await rest.json()).message)).toEqual(principal)
    const grpc = await grpcClient(server.port).unary('lf.a2a.v1.A2AService/SendMessage', sends['1.0'][1], {
      metadata: ada,
    })
    expect(text(grpc.message)).toEqual(principal)
  })

  it('a caller with wrong credentials is rejected without a reason', async () => {
    const { wire } = await start()
    const { status, error } = await wire.call('ListTasks', {}, { 'x-api-key': 'eve-key' })
    expect({ status, message: error?.message }).toEqual({ status: 401, message: 'The credentials were not accepted.' })
  })

  it('only an authenticated caller gets the extended card, even where anonymous callers are admitted', async () => {
    const extended = { skills: [{ id: 'secret', name: 'Secret' }] }
    const { wire } = await start({ auth: { ...auth, anonymous: true }, extendedCard: extended })
    expect(await wire.result('GetExtendedAgentCard', {}, ada)).toMatchObject({
      skills: [{ id: 'secret' }],
      securitySchemes: { key: {} },
    })
    const { status } = await wire.call('GetExtendedAgentCard', {})
    expect(status).toBe(401)
  })
})

describe('the card', () => {
  it('the card declares the required credentials in the form of every version', async () => {
    const skills = [{ id: 'pay', name: 'Pay', security: [{ key: ['pay'] }] }]
    const required: AuthOptions = { ...auth, require: [{ key: ['call'] }] }
    const { server } = await start({ auth: required, profile: { name: 'Test', skills } })
    const card = await (await fetch(server.cardUrl)).json()
    expect(card).toMatchObject({
      securitySchemes: {
        key: {
          apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' },
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
        },
      },
      securityRequirements: [{ schemes: { key: { list: ['call'] } } }],
      security: [{ key: ['call'] }],
      skills: [{ security: [{ key: ['pay'] }], securityRequirements: [{ schemes: { key: { list: ['pay'] } } }] }],
    })
    const legacyCard = await (await fetch(`${server.url}/.well-known/agent.json`)).json()
    expect(legacyCard).toMatchObject({ authentication: { schemes: ['ApiKey'] } })
  })
})

describe('a skill that requires scopes', () => {
  const profile = {
    name: 'Test',
    skills: [
      { id: 'talk', name: 'Talk' },
      { id: 'pay', name: 'Pay', security: [{ key: ['pay'] }] },
    ],
  }
  const payRequest = (version: keyof typeof sends) => {
    const [method, params] = sends[version]
    return [method, { ...params, metadata: { skillId: 'pay' } }] as const
  }
  const missing = "Insufficient permissions for skill 'pay': missing the scope pay."

  it('a caller needs the scopes for that skill and for no other', async () => {
    const { wire } = await start({ profile })
    expect(await wire.call(...payRequest('1.0'), ada)).toHaveProperty('result')
    expect(await wire.call(...sends['1.0'], bob)).toHaveProperty('result')
  })

  it.each([
    ['1.0', -31403, missing],
    ['0.3', -31403, missing],
    ['0.1', -32008, 'Authorization failed'],
  ] as const)(
    'a call without the scope gets 403 and the missing scope in %s JSON-RPC',
    async (version, code, message) => {
      const { wire } = await start({ profile })
      const [method, params] = payRequest(version)
      const headers = { ...bob, 'a2a-version': version }
      const response = await wire.post({ jsonrpc: '2.0', id: 1, method, params }, headers)
      expect(response.status).toBe(403)
      const { error } = await response.json()
      expect(error).toMatchObject({ code, message })
      expect(JSON.stringify(error.data)).toContain('"missingScopes":"pay"')
    },
  )

  it('a stream without the scope is rejected before it starts, over REST and gRPC', async () => {
    const { server } = await start({ profile })
    const [, params] = payRequest('1.0')
    const rest = await fetch(`${server.url}/message:stream`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...bob },
      body: JSON.stringify(params),
    })
    expect(rest.status).toBe(403)
    expect(await rest.json()).toMatchObject({ error: { status: 'PERMISSION_DENIED', message: missing } })
    const client = grpcClient(server.port)
    const { status } = await readAll(
      client.stream('lf.a2a.v1.A2AService/SendStreamingMessage', grpcParams(params), { metadata: bob }),
    )
    expect(status).toMatchObject({ code: 7, details: missing })
  })

  it('the house dialect uses its own error code if house.codes is set', async () => {
    const { server } = await start({ profile, dialects: { house: { codes: true } } })
    const [method, params] = payRequest('0.3')
    const { error } = await jsonRpc(`${server.url}/api/a2a`, bob).call(method, params)
    expect(error).toMatchObject({ code: -32603, message: "Forbidden: Insufficient permissions for skill 'pay'" })
  })

  it('a call that names no skill needs the scopes of the only skill', async () => {
    const only = { name: 'Test', skills: profile.skills.slice(1) }
    const { wire } = await start({ profile: only })
    expect(await wire.call(...sends['1.0'], bob)).toMatchObject({ status: 403 })
    expect(await wire.call(...sends['1.0'], ada)).toHaveProperty('result')
  })

  it('a skill with an undeclared scheme is an error at start', async () => {
    const wrong = { name: 'Test', skills: [{ id: 'pay', name: 'Pay', security: [{ kye: [] }] }] }
    await expect(start({ profile: wrong })).rejects.toThrow('the skill pay asks for kye, and auth.schemes has key')
  })
})

describe('anonymous callers', () => {
  it('anonymous callers list the tasks of a context that they name, and all tasks only with listAll', async () => {
    const list = async (options: TestServerOptions, params: object) => {
      const { wire } = await startTestServer(async (turn) => await turn.requireInput('?'), options)
      await wire.sendTask('x', { contextId: 'c' })
      return await wire.call<{ totalSize: number }>('ListTasks', params)
    }
    const none = { auth: 'none' } as const
    expect(await list(none, { contextId: 'c' })).toMatchObject({ result: { totalSize: 1 } })
    const rejected = await list(none, {})
    expect(rejected.error?.message).toContain('contextId: expected the context whose tasks to list')
    expect(rejected.error?.message).toContain('the operator sets auth: { anonymous: { listAll: true } }')
    expect(await list({ auth: { anonymous: { listAll: true } } }, {})).toMatchObject({ result: { totalSize: 1 } })
    expect(await list({}, {})).toMatchObject({ result: { totalSize: 1 } })
    expect(await list({ trustProxy: true }, {})).toHaveProperty('error')
  })

  it('anonymous and authenticated callers do not see the tasks of each other', async () => {
    const { wire } = await start({ auth: { ...auth, anonymous: { listAll: true } } })
    const send = (headers: Readonly<Record<string, string>>) =>
      wire.call<{ task: { id: string } }>(
        'SendMessage',
        { ...sends['1.0'][1], configuration: { returnImmediately: true } },
        headers,
      )
    const [anonymousTask, adaTask] = await Promise.all([send({}), send(ada)])
    const get = async (id: string | undefined, headers: Readonly<Record<string, string>>) =>
      (await wire.call('GetTask', { id }, headers)).error?.code ?? 'found'
    const [anonymousId, adaId] = [anonymousTask.result?.task.id, adaTask.result?.task.id]
    expect([await get(anonymousId, {}), await get(adaId, ada)]).toEqual(['found', 'found'])
    expect([await get(anonymousId, ada), await get(adaId, {})]).toEqual([-32001, -32001])
  })
})

describe('serve', () => {
  const echo = agent({ name: 'Echo' }, (turn) => turn.text)

  it.each(['localhost', '127.0.0.2', '::1'])('serve listens on the loopback host %s without auth', async (host) => {
    const { server } = await startTestServer(async () => 'hi', { host })
    expect((await createWireClient(server.url).send('x')).message).toBeDefined()
  })

  const reachable = [
    '0.0.0.0',
    '::',
    '[::]',
    '0',
    '192.0.2.7',
    'fe80::1',
    '::ffff:192.0.2.7',
    'agent.example',
    'localhost.example',
  ]

  it('serve rejects an empty host', async () => {
    await expect(serve(echo, { host: '', port: 0, signals: false })).rejects.toThrow('host: expected')
  })

  it.each(reachable)('serve rejects the host %s without auth', async (host) => {
    await expect(serve(echo, { host, port: 0, signals: false })).rejects.toThrow(
      `${host} can be reached from other machines, and nothing says who may call`,
    )
  })

  it('an added agent without auth options requires the credentials of the server', async () => {
    const key = apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('k') }] })
    const { server } = await startTestServer(async () => 'hi', { auth: { schemes: { key } } })
    const undefinedAuth = { auth: undefined } as object
    for (const [at, options] of Object.entries({ '/one': {}, '/two': undefinedAuth }))
      server.add(echo, { mount: at, ...options })
    for (const path of ['/', '/one', '/two']) {
      const wire = createWireClient(`${server.url}${path}`)
      expect((await wire.call('ListTasks')).status).toBe(401)
      expect((await wire.call('ListTasks', {}, { 'x-api-key': 'k' })).status).toBe(200)
    }
  })

  it('serve listens on all interfaces with auth none', async () => {
    const { server } = await startTestServer(async () => 'hi', { host: '0.0.0.0', auth: 'none' })
    expect((await createWireClient(server.url).send('x')).message).toBeDefined()
  })
})

it('credentials of one tenant are not valid for another tenant on the same host', async () => {
  const host = createHost()
  const key = async (id: string) => ({ key: apiKey({ keys: [{ id, hash: await hashApiKey(`${id}-key`) }] }) })
  const named = (name: string) => agent({ name }, () => name)
  host.add(named('one'), { tenant: 'one', auth: { schemes: await key('ada') }, logger: silentLogger })
  host.add(named('two'), { tenant: 'two', auth: { schemes: await key('bob') }, logger: silentLogger })
  const call = async (path: string, tenant: string, headers: Readonly<Record<string, string>>) => {
    const wire = createWireClient(`http://h.test/${path}`, (url, init) => host.fetch(new Request(url, init)))
    const { status, result } = await wire.call('SendMessage', { ...sends['1.0'][1], tenant }, headers)
    return result ? 'answered' : status
  }
  expect(await call('', 'one', ada)).toBe('answered')
  expect(await call('', 'two', bob)).toBe('answered')
  expect(await call('', 'two', ada)).toBe(401)
  expect(await call('', 'two', {})).toBe(401)
  // The path and the query name the tenant. A different tenant in the params is an error.
  expect(await call('one', 'two', ada)).toBe(200)
  expect(await call('?tenant=one', 'two', ada)).toBe(200)
  await host.drain(0)
})

it('a custom scheme authenticates callers', async () => {
  const scheme = custom({
    card: { type: 'http', scheme: 'Magic' },
    authenticate: ({ header }) => (header('authorization') === 'Magic word' ? { id: 'friend' } : undefined),
  })
  const { wire } = await start({ auth: { schemes: { scheme } } })
  expect(await wire.call(...sends['1.0'], { authorization: 'Magic word' })).toHaveProperty('result')
  expect(await wire.call(...sends['1.0'], { authorization: 'Magic wand' })).toMatchObject({ status: 401 })
})

it('a custom scheme that does not answer within the timeout rejects the caller', async () => {
  const scheme = custom({ card: { type: 'http', scheme: 'Magic' }, authenticate: () => new Promise(() => {}) })
  const { wire } = await start({ auth: { schemes: { scheme }, timeout: 50 } })
  expect(await wire.call(...sends['1.0'], { authorization: 'Magic word' })).toMatchObject({ status: 401 })
})

/** The grpc-js loader expects `google.protobuf.Struct` with its fields written out. */
function grpcParams({ metadata, ...rest }: { readonly metadata: Readonly<Record<string, string>> }) {
  const fields = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, { stringValue: value }]))
  return { ...rest, metadata: { fields } }
}
