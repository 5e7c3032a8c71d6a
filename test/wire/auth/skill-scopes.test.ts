import { describe, expect, it } from 'vitest'
import { skill } from '../../../src/core/agent/skill.ts'
import { apiKey, hashApiKey } from '../../../src/entries/auth.ts'
import { grpcClient, readAll } from '../../support/grpc/grpc-client.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'
import { sendParams } from '../../support/wire/wire-client.ts'

const keys = [
  { id: 'ada', scopes: ['pay', 'sign'], hash: await hashApiKey('ada') },
  { id: 'bob', scopes: ['pay'], hash: await hashApiKey('bob') },
]
const skills = [
  { id: 'talk', name: 'Talk' },
  { id: 'pay', name: 'Pay', security: [{ key: ['pay', 'sign'] }] },
]
const metadata = { skillId: 'pay' }
const text = "Insufficient permissions for skill 'pay': missing the scope sign."

function start(options: TestServerOptions = {}) {
  const auth = { schemes: { key: apiKey({ keys }) } }
  return startTestServer(async () => 'paid', { auth, profile: { name: 'Test', skills }, grpc: true, ...options })
}

const v10 = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }, metadata }
const v03 = {
  message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] },
  metadata,
}
const proto = { request: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] }, metadata }
const v01 = { message: { role: 'user', parts: [{ type: 'text', text: 'x' }] }, metadata }

/** Name, version, unary and streaming method, params, and the error of a dialect on an HTTP binding. */
const bindings: readonly (readonly [string, string, readonly [string, string], object, object])[] = [
  ['1.0 over JSON-RPC', '1.0', ['SendMessage', 'SendStreamingMessage'], v10, { code: -31403, message: text }],
  ['0.3 over JSON-RPC', '0.3', ['message/send', 'message/stream'], v03, { code: -31403, message: text }],
  ['0.2 over JSON-RPC', '0.2', ['message/send', 'message/stream'], v03, { code: -31403, message: text }],
  ['0.1', '', ['tasks/send', 'tasks/sendSubscribe'], v01, { code: -32008, message: 'Authorization failed' }],
  ['1.0 over REST', '1.0', ['/message:send', '/message:stream'], v10, { code: 403, status: 'PERMISSION_DENIED' }],
  ['0.3 over REST', '0.3', ['/v1/message:send', '/v1/message:stream'], v03, { code: 403, status: 'PERMISSION_DENIED' }],
  [
    '0.3 protobuf JSON over REST',
    '0.3',
    ['/v1/message:send', '/v1/message:stream'],
    proto,
    { code: 403, status: 'PERMISSION_DENIED' },
  ],
]

const housePart = { kind: 'tool-use', toolUseId: 't', name: 'x', arguments: {} }
const house = { message: { ...v03.message, parts: [housePart] } }

const houseBindings: typeof bindings = [
  ['the house dialect over JSON-RPC', '0.3', ['message/send', 'message/stream'], house, {}],
  ['the house dialect over REST', '0.3', ['/v1/message:send', '/v1/message:stream'], house, {}],
]

/** The same call with this metadata in its message and in the request. */
function withNames(
  binding: (typeof bindings)[number],
  inMessage: object,
  inRequest: object,
): (typeof bindings)[number] {
  const [name, version, calls, params, error] = binding
  const members = Object.entries(params).filter(([member]) => member !== 'metadata')
  const named = members.map(([member, value]) => [
    member,
    { ...value, messageId: crypto.randomUUID(), metadata: inMessage },
  ])
  return [name, version, calls, { ...Object.fromEntries(named), metadata: inRequest }, error]
}

/** An agent that chooses by itself what to do, so that only the server restricts its skills. */
async function startCounting() {
  let calls = 0
  const auth = { schemes: { key: apiKey({ keys }) } }
  const { server } = await startTestServer(() => `call ${++calls}`, { auth, profile: { name: 'Test', skills } })
  return { server, calls: () => calls }
}

async function post(url: string, binding: (typeof bindings)[number], nth: 0 | 1, key: string): Promise<Response> {
  const [, version, calls, params] = binding
  const call = calls[nth]
  const isRest = call.startsWith('/')
  // In 0.1, callers choose the task id.
  const withId = { ...params, ...(version === '' && { id: crypto.randomUUID() }) }
  return await fetch(isRest ? `${url}${call}` : url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key, ...(version && { 'a2a-version': version }) },
    body: JSON.stringify(isRest ? params : { jsonrpc: '2.0', id: 7, method: call, params: withId }),
  })
}

describe('a missing scope', () => {
  it.each(bindings)('a call or stream without the scope gets 403 and the missing scope in %s', async (...binding) => {
    const { server } = await start()
    const [, , , , error] = binding
    for (const nth of [0, 1] as const) {
      const rejected = await post(server.url, binding, nth, 'bob')
      expect(rejected.status).toBe(403)
      expect(rejected.headers.get('content-type')).toMatch(/^application\/(a2a\+)?json$/)
      const body = await rejected.text()
      expect(JSON.parse(body)).toMatchObject({ error })
      expect(body).toMatch(/"missingScopes":"sign"/)
      const allowed = await post(server.url, binding, nth, 'ada')
      expect({ status: allowed.status, isPaid: (await allowed.text()).includes('paid') }).toEqual({
        status: 200,
        isPaid: true,
      })
    }
  })

  it.each([
    ['lf.a2a.v1', { ...v10, metadata: { fields: { skillId: { stringValue: 'pay' } } } }, text],
    // 0.3 errors begin with their class name.
    ['a2a.v1', { ...proto, metadata: { fields: { skillId: { stringValue: 'pay' } } } }, `ForbiddenError: ${text}`],
  ])(
    'a call or stream without the scope gets PERMISSION_DENIED over gRPC service %s',
    async (name, params, details) => {
      const { server } = await start()
      const client = grpcClient(server.port)
      const asBob = { metadata: { 'x-api-key': 'bob' } }
      const failed = await client.unary(`${name}.A2AService/SendMessage`, params, asBob).catch((error) => error)
      expect(failed).toMatchObject({ code: 7, details })
      const { status, messages } = await readAll(
        client.stream(`${name}.A2AService/SendStreamingMessage`, params, asBob),
      )
      expect({ code: status.code, details: status.details, messages }).toEqual({ code: 7, details, messages: [] })
      const asAda = { metadata: { 'x-api-key': 'ada' } }
      const [member, message] = Object.entries(params).find(([key]) => key !== 'metadata') ?? ['', {}]
      const talking = { ...(message as object), metadata: { fields: { skill: { stringValue: 'talk' } } } }
      const contradiction = client.unary(`${name}.A2AService/SendMessage`, { ...params, [member]: talking }, asAda)
      await expect(contradiction).rejects.toMatchObject({
        code: 3,
        details: expect.stringContaining('expected one skill'),
      })
      const paid = await client.unary(`${name}.A2AService/SendMessage`, params, asAda)
      expect(JSON.stringify(paid)).toContain('paid')
    },
  )

  it.each([...bindings, ...houseBindings])('a request that names two skills is refused in %s', async (...binding) => {
    const { server, calls } = await startCounting()
    const [, version] = binding
    const names = ['skillId', 'skill'].flatMap((one) => ['skillId', 'skill'].map((other) => [one, other] as const))
    for (const [inMessage, inRequest] of names) {
      for (const [first, second] of [
        ['talk', 'pay'],
        ['pay', 'talk'],
      ] as const) {
        const response = await post(
          server.url,
          withNames(binding, { [inMessage]: first }, { [inRequest]: second }),
          0,
          'ada',
        )
        expect(await response.text(), `${inMessage} ${inRequest}`).toMatch(
          version === '' ? /-32602/ : /expected one skill/,
        )
      }
    }
    for (const members of [{ skillId: 'talk', skill: 'pay' }, { skillId: ['pay'] }, { skill: { id: 'pay' } }]) {
      for (const both of [withNames(binding, members, {}), withNames(binding, {}, members)]) {
        expect(await (await post(server.url, both, 0, 'ada')).text()).toMatch(/-32602|"code":400|INVALID_ARGUMENT/)
      }
    }
    expect(calls()).toBe(0)
  })

  it.each([...bindings, ...houseBindings])(
    'every name of a restricted skill needs its scopes in %s',
    async (...binding) => {
      const { server, calls } = await startCounting()
      for (const member of ['skillId', 'skill']) {
        for (const named of [
          withNames(binding, { [member]: 'pay' }, {}),
          withNames(binding, {}, { [member]: 'pay' }),
        ]) {
          expect((await post(server.url, named, 0, 'bob')).status, member).toBe(403)
          expect((await post(server.url, named, 1, 'bob')).status, member).toBe(403)
        }
      }
      expect(calls()).toBe(0)
      const agreed = withNames(binding, { skillId: 'pay', skill: 'pay' }, { skillId: 'pay', skill: 'pay' })
      expect((await post(server.url, agreed, 0, 'ada')).status).toBe(200)
      expect(calls()).toBe(1)
    },
  )

  it.each([
    [false, 403, { code: -31403, message: text }],
    [true, 403, { code: -32603, message: "Forbidden: Insufficient permissions for skill 'pay'" }],
  ])('the house dialect uses its own error code if house.codes is %s', async (houseCodes, status, error) => {
    const { server } = await start({ dialects: { house: { codes: houseCodes } } })
    for (const method of ['message/send', 'message/stream']) {
      const rejected = await fetch(`${server.url}/api/a2a`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': 'bob' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: v03 }),
      })
      expect(rejected.status).toBe(status)
      expect(await rejected.json()).toMatchObject({ id: 7, error })
    }
  })
})

describe('a restricted skill', async () => {
  const weak = { id: 'ada', scopes: ['pay'], hash: await hashApiKey('ada-weak') }
  const schemes = { key: apiKey({ keys: [...keys, weak] }) }
  const pay = skill({
    id: 'pay',
    name: 'Pay',
    security: [{ key: ['pay', 'sign'] }],
    async run(text, turn) {
      if (turn.task) return `paid ${text}`
      await turn.requireInput('How much?')
      return undefined
    },
  })
  const talk = skill({ id: 'talk', name: 'Talk', run: (text) => `said ${text}` })

  it.each([
    ['the metadata of the message', (skillId: string) => ({ message: { metadata: { skillId } } })],
    ['the metadata of the request', (skillId: string) => ({ metadata: { skillId } })],
    ['the legacy name of the member', (skillId: string) => ({ message: { metadata: { skill: skillId } } })],
  ])('naming the skill needs its scopes although skillOf returns another skill: %s', async (_, naming) => {
    const auth = { schemes, skillOf: () => 'talk' }
    const { wire } = await startTestServer(undefined, { auth, profile: { name: 'Test', skills: [talk, pay] } })
    const sendAs = async (key: string, skillId: string) => {
      const { message = {}, ...rest } = naming(skillId) as { message?: object }
      const params = { message: { ...v10.message, messageId: crypto.randomUUID(), ...message }, ...rest }
      return (await wire.call('SendMessage', params, { 'x-api-key': key })).status
    }
    expect(await sendAs('bob', 'pay')).toBe(403)
    expect(await sendAs('bob', 'talk')).toBe(200)
    expect(await sendAs('ada', 'pay')).toBe(200)
  })

  it('every message of a task needs the scopes of its skill, also without naming it', async () => {
    const { wire } = await startTestServer(undefined, {
      auth: { schemes },
      profile: { name: 'Test', skills: [talk, pay] },
    })
    const strong = { 'x-api-key': 'ada' }
    const firstMessage = { message: { ...v10.message, metadata: { skillId: 'pay' } } }
    const created = await wire.result<{ task: { id: string } }>('SendMessage', firstMessage, strong)
    const taskId = created.task.id
    const sendMore = (headers: Readonly<Record<string, string>>) =>
      wire.call<{ task: object }>('SendMessage', sendParams('10', { taskId }), headers)
    for (const key of ['ada-weak', 'bob']) {
      const rejected = await sendMore({ 'x-api-key': key })
      // Bob does not own the task, so it does not exist for him.
      expect(rejected.status).toBe(key === 'bob' ? 200 : 403)
      expect(rejected.error?.code).toBe(key === 'bob' ? -32001 : -31403)
    }
    expect(JSON.stringify((await sendMore(strong)).result)).toContain('paid 10')
  })
})
