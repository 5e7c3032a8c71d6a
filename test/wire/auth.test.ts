import type { ServiceError } from '@grpc/grpc-js'
import { describe, expect, it } from 'vitest'
import { agent } from '../../src/agent/agent.ts'
import { type AuthOptions, apiKey, custom, hashApiKey } from '../../src/entries/auth.ts'
import { serve } from '../../src/serve.ts'
import { createHost } from '../../src/server/host.ts'
import { grpcClient, readAll } from '../support/grpc/grpc-client.ts'
import { silentLogger } from '../support/logger.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'
import { jsonRpc } from '../support/wire/json-rpc.ts'
import { createWireClient } from '../support/wire/wire-client.ts'

const keys = [
  { id: 'ada', tenant: 'acme', scopes: ['call', 'pay'], hash: await hashApiKey('ada-key') },
  { id: 'bob', scopes: ['call'], hash: await hashApiKey('bob-key') },
]
const auth: AuthOptions = { schemes: { key: apiKey({ keys }) } }
const ada = { 'x-api-key': 'ada-key' }
const bob = { 'x-api-key': 'bob-key' }
const challenge = 'ApiKey realm="Test", in="header", name="X-API-Key"'

function open(options: TestServerOptions = {}) {
  return startTestServer(async (turn) => JSON.stringify(turn.principal), { auth, grpc: true, ...options })
}

/** A message as each dialect has it. */
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
  ] as const)('is told so in JSON-RPC of %s: 401, a challenge, its own id, and error %d', async (version, code) => {
    const { wire } = await open()
    const [method, params] = sends[version]
    const response = await wire.post({ jsonrpc: '2.0', id: 'mine', method, params }, { 'a2a-version': version })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(challenge)
    expect(await response.json()).toMatchObject({ id: 'mine', error: { code } })
  })

  it('is told so also when the call cannot be read, is no call, or is too long to be looked at', async () => {
    const { wire } = await open()
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
  ])('is told so over REST: %s %s', async (method, path) => {
    const { server } = await open({ extendedCard: {} })
    const response = await fetch(`${server.url}${path}`, { method })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe(challenge)
    expect(await response.json()).toMatchObject({ error: { code: 401, status: 'UNAUTHENTICATED' } })
  })

  it('is told so over gRPC, for one answer and for many', async () => {
    const { server } = await open()
    const client = grpcClient(server.port)
    const unary = client.unary('lf.a2a.v1.A2AService/GetTask', { id: 't' })
    await expect(unary).rejects.toMatchObject({ code: 16 })
    const error: ServiceError = await unary.catch((failure) => failure)
    expect(error.metadata.get('www-authenticate')).toEqual([challenge])
    const { status, messages } = await readAll(client.stream('a2a.v1.A2AService/TaskSubscription', { name: 'tasks/t' }))
    expect({ code: status.code, messages }).toEqual({ code: 16, messages: [] })
  })

  it('reads the public card and the health page', async () => {
    const { server } = await open()
    expect((await fetch(server.cardUrl)).status).toBe(200)
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
  })
})

describe('a caller with credentials', () => {
  const principal = { id: 'ada', tenant: 'acme', scopes: ['call', 'pay'], grants: { key: ['call', 'pay'] } }

  it('is known to the agent, whatever it speaks', async () => {
    const { server, wire } = await open()
    const text = ({ parts: [part] }: { parts: { text?: string }[] }) => JSON.parse(part?.text ?? '')
    const newest = await wire.result<{ message: { parts: { text: string }[] } }>(...sends['1.0'], ada)
    expect(text(newest.message)).toEqual(principal)
    const older = await jsonRpc(wire.url, ada).call(...sends['0.3'])
    expect(text(older.result)).toEqual(principal)
    const oldest = await jsonRpc(wire.url, ada).call(...sends['0.1'])
    expect(text(oldest.result.status.message)).toEqual(principal)
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

  it('that are wrong is refused, and learns nothing of why', async () => {
    const { wire } = await open()
    const { status, error } = await wire.call('ListTasks', {}, { 'x-api-key': 'eve-key' })
    expect({ status, message: error?.message }).toEqual({ status: 401, message: 'The credentials were not accepted.' })
  })

  it('gets the extended card, and nobody else does, not even where nobody needs credentials', async () => {
    const extended = { skills: [{ id: 'secret', name: 'Secret' }] }
    const { wire } = await open({ auth: { ...auth, anonymous: true }, extendedCard: extended })
    expect(await wire.result('GetExtendedAgentCard', {}, ada)).toMatchObject({
      skills: [{ id: 'secret' }],
      securitySchemes: { key: {} },
    })
    const { status } = await wire.call('GetExtendedAgentCard', {})
    expect(status).toBe(401)
  })
})

describe('the card', () => {
  it('says in every form what is asked for', async () => {
    const skills = [{ id: 'pay', name: 'Pay', security: [{ key: ['pay'] }] }]
    const required: AuthOptions = { ...auth, require: [{ key: ['call'] }] }
    const { server } = await open({ auth: required, profile: { name: 'Test', skills } })
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
    const old = await (await fetch(`${server.url}/.well-known/agent.json`)).json()
    expect(old).toMatchObject({ authentication: { schemes: ['ApiKey'] } })
  })
})

describe('a skill that asks for scopes', () => {
  const profile = {
    name: 'Test',
    skills: [
      { id: 'talk', name: 'Talk' },
      { id: 'pay', name: 'Pay', security: [{ key: ['pay'] }] },
    ],
  }
  const paying = (version: keyof typeof sends) => {
    const [method, params] = sends[version]
    return [method, { ...params, metadata: { skillId: 'pay' } }] as const
  }
  const missing = "Insufficient permissions for skill 'pay': missing the scope pay."

  it('is used by who has them, and the others by everybody', async () => {
    const { wire } = await open({ profile })
    expect(await wire.call(...paying('1.0'), ada)).toHaveProperty('result')
    expect(await wire.call(...sends['1.0'], bob)).toHaveProperty('result')
  })

  it.each([
    ['1.0', -31403, missing],
    ['0.3', -31403, missing],
    ['0.1', -32008, 'Authorization failed'],
  ] as const)('is refused in JSON-RPC of %s with 403 and what is missing', async (version, code, message) => {
    const { wire } = await open({ profile })
    const [method, params] = paying(version)
    const headers = { ...bob, 'a2a-version': version }
    const response = await wire.post({ jsonrpc: '2.0', id: 1, method, params }, headers)
    expect(response.status).toBe(403)
    const { error } = await response.json()
    expect(error).toMatchObject({ code, message })
    expect(JSON.stringify(error.data)).toContain('"missingScopes":"pay"')
  })

  it('is refused over REST and gRPC, before a stream begins', async () => {
    const { server } = await open({ profile })
    const [, params] = paying('1.0')
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

  it('is refused to the house in its own words, if that is asked for', async () => {
    const { server } = await open({ profile, dialects: { house: { codes: true } } })
    const [method, params] = paying('0.3')
    const { error } = await jsonRpc(`${server.url}/api/a2a`, bob).call(method, params)
    expect(error).toMatchObject({ code: -32603, message: "Forbidden: Insufficient permissions for skill 'pay'" })
  })

  it('is the only one, and so cannot be gone round by naming none', async () => {
    const only = { name: 'Test', skills: profile.skills.slice(1) }
    const { wire } = await open({ profile: only })
    expect(await wire.call(...sends['1.0'], bob)).toMatchObject({ status: 403 })
    expect(await wire.call(...sends['1.0'], ada)).toHaveProperty('result')
  })

  it('of a scheme that is not declared is a mistake of the operator', async () => {
    const wrong = { name: 'Test', skills: [{ id: 'pay', name: 'Pay', security: [{ kye: [] }] }] }
    await expect(open({ profile: wrong })).rejects.toThrow('the skill pay asks for kye, and auth.schemes has key')
  })
})

describe('callers who need no credentials', () => {
  it('list what is in a context they name, and everything only where that is said', async () => {
    const list = async (options: TestServerOptions, params: object) => {
      const { wire } = await startTestServer(async (turn) => await turn.requireInput('?'), options)
      await wire.sendTask('x', { contextId: 'c' })
      return await wire.call<{ totalSize: number }>('ListTasks', params)
    }
    const none = { auth: 'none' } as const
    expect(await list(none, { contextId: 'c' })).toMatchObject({ result: { totalSize: 1 } })
    const refused = await list(none, {})
    expect(refused.error?.message).toContain('contextId: expected the context whose tasks to list')
    expect(await list({ auth: { anonymous: { listAll: true } } }, {})).toMatchObject({ result: { totalSize: 1 } })
    expect(await list({}, {})).toMatchObject({ result: { totalSize: 1 } })
    expect(await list({ trustProxy: true }, {})).toHaveProperty('error')
  })

  it('are not those who are known: neither sees what the other has', async () => {
    const { wire } = await open({ auth: { ...auth, anonymous: { listAll: true } } })
    const send = (headers: Readonly<Record<string, string>>) =>
      wire.call<{ task: { id: string } }>(
        'SendMessage',
        { ...sends['1.0'][1], configuration: { returnImmediately: true } },
        headers,
      )
    const [theirs, hers] = await Promise.all([send({}), send(ada)])
    const get = async (id: string | undefined, headers: Readonly<Record<string, string>>) =>
      (await wire.call('GetTask', { id }, headers)).error?.code ?? 'found'
    const [nobodys, adas] = [theirs.result?.task.id, hers.result?.task.id]
    expect([await get(nobodys, {}), await get(adas, ada)]).toEqual(['found', 'found'])
    expect([await get(nobodys, ada), await get(adas, {})]).toEqual([-32001, -32001])
  })
})

describe('serve', () => {
  const echo = agent({ name: 'Echo' }, (turn) => turn.text)

  it.each(['localhost', '127.0.0.2', '::1'])('listens on %s, which only this machine reaches', async (host) => {
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

  it('does not listen on an empty host', async () => {
    await expect(serve(echo, { host: '', port: 0, signals: false })).rejects.toThrow('host: expected')
  })

  it.each(reachable)('does not listen on %s before it knows who may call', async (host) => {
    await expect(serve(echo, { host, port: 0, signals: false })).rejects.toThrow(
      `${host} can be reached from other machines, and nothing says who may call`,
    )
  })

  it('asks the callers of an agent that is added without a word about it for what it asks all others', async () => {
    const key = apiKey({ keys: [{ id: 'ada', hash: await hashApiKey('k') }] })
    const { server } = await startTestServer(async () => 'hi', { auth: { schemes: { key } } })
    const unsaid = { auth: undefined } as object
    for (const [at, options] of Object.entries({ '/one': {}, '/two': unsaid }))
      server.add(echo, { mount: at, ...options })
    for (const path of ['/', '/one', '/two']) {
      const wire = createWireClient(`${server.url}${path}`)
      expect((await wire.call('ListTasks')).status).toBe(401)
      expect((await wire.call('ListTasks', {}, { 'x-api-key': 'k' })).status).toBe(200)
    }
  })

  it('listens there when it is told that everybody may', async () => {
    const { server } = await startTestServer(async () => 'hi', { host: '0.0.0.0', auth: 'none' })
    expect((await createWireClient(server.url).send('x')).message).toBeDefined()
  })
})

it('lets callers of one tenant in only there, although they share an address', async () => {
  const host = createHost()
  const key = async (id: string) => ({ key: apiKey({ keys: [{ id, hash: await hashApiKey(`${id}-key`) }] }) })
  const says = (name: string) => agent({ name }, () => name)
  host.add(says('one'), { tenant: 'one', auth: { schemes: await key('ada') }, logger: silentLogger })
  host.add(says('two'), { tenant: 'two', auth: { schemes: await key('bob') }, logger: silentLogger })
  const call = async (path: string, tenant: string, headers: Readonly<Record<string, string>>) => {
    const wire = createWireClient(`http://h.test/${path}`, (url, init) => host.fetch(new Request(url, init)))
    const { status, result } = await wire.call('SendMessage', { ...sends['1.0'][1], tenant }, headers)
    return result ? 'answered' : status
  }
  expect(await call('', 'one', ada)).toBe('answered')
  expect(await call('', 'two', bob)).toBe('answered')
  expect(await call('', 'two', ada)).toBe(401)
  expect(await call('', 'two', {})).toBe(401)
  // Who comes in by one door is not answered by who is behind another.
  expect(await call('one', 'two', ada)).toBe(200)
  expect(await call('?tenant=one', 'two', ada)).toBe(200)
  await host.drain(0)
})

it('knows callers by a way of its own', async () => {
  const scheme = custom({
    card: { type: 'http', scheme: 'Magic' },
    authenticate: ({ header }) => (header('authorization') === 'Magic word' ? { id: 'friend' } : undefined),
  })
  const { wire } = await open({ auth: { schemes: { scheme } } })
  expect(await wire.call(...sends['1.0'], { authorization: 'Magic word' })).toHaveProperty('result')
  expect(await wire.call(...sends['1.0'], { authorization: 'Magic wand' })).toMatchObject({ status: 401 })
})

/** protobuf's own `Struct` is written out by the loader of grpc-js. */
function grpcParams({ metadata, ...rest }: { readonly metadata: Readonly<Record<string, string>> }) {
  const fields = Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, { stringValue: value }]))
  return { ...rest, metadata: { fields } }
}
