import { describe, expect, it } from 'vitest'
import { skill } from '../../src/agent/skill.ts'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { grpcClient, readAll } from '../support/grpc/grpc-client.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'
import { sendParams } from '../support/wire/wire-client.ts'

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

function open(options: TestServerOptions = {}) {
  const auth = { schemes: { key: apiKey({ keys }) } }
  return startTestServer(async () => 'paid', { auth, profile: { name: 'Test', skills }, grpc: true, ...options })
}

const newest = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }, metadata }
const kind = {
  message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] },
  metadata,
}
const proto = { request: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] }, metadata }
const typed = { message: { role: 'user', parts: [{ type: 'text', text: 'x' }] }, metadata }

/** A dialect and a binding of HTTP: the version named, one answer and many, what is sent, and the error. */
const doors: readonly (readonly [string, string, readonly [string, string], object, object])[] = [
  ['1.0 over JSON-RPC', '1.0', ['SendMessage', 'SendStreamingMessage'], newest, { code: -31403, message: text }],
  ['0.3 over JSON-RPC', '0.3', ['message/send', 'message/stream'], kind, { code: -31403, message: text }],
  ['0.2 over JSON-RPC', '0.2', ['message/send', 'message/stream'], kind, { code: -31403, message: text }],
  ['0.1', '', ['tasks/send', 'tasks/sendSubscribe'], typed, { code: -32008, message: 'Authorization failed' }],
  ['1.0 over REST', '1.0', ['/message:send', '/message:stream'], newest, { code: 403, status: 'PERMISSION_DENIED' }],
  [
    '0.3 over REST',
    '0.3',
    ['/v1/message:send', '/v1/message:stream'],
    kind,
    { code: 403, status: 'PERMISSION_DENIED' },
  ],
  [
    '0.3 as protobuf has it, over REST',
    '0.3',
    ['/v1/message:send', '/v1/message:stream'],
    proto,
    { code: 403, status: 'PERMISSION_DENIED' },
  ],
]

async function ask(url: string, door: (typeof doors)[number], nth: 0 | 1, key: string): Promise<Response> {
  const [, version, calls, params] = door
  const call = calls[nth]
  const isRest = call.startsWith('/')
  // In 0.1 callers name their tasks.
  const named = { ...params, ...(version === '' && { id: crypto.randomUUID() }) }
  return await fetch(isRest ? `${url}${call}` : url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': key, ...(version && { 'a2a-version': version }) },
    body: JSON.stringify(isRest ? params : { jsonrpc: '2.0', id: 7, method: call, params: named }),
  })
}

describe('a skill for which a scope is missing', () => {
  it.each(doors)('is refused with 403 and what is missing, also as a stream, in %s', async (...door) => {
    const { server } = await open()
    const [, , , , error] = door
    for (const nth of [0, 1] as const) {
      const refused = await ask(server.url, door, nth, 'bob')
      expect(refused.status).toBe(403)
      expect(refused.headers.get('content-type')).toMatch(/^application\/(a2a\+)?json$/)
      const body = await refused.text()
      expect(JSON.parse(body)).toMatchObject({ error })
      expect(body).toMatch(/"missingScopes":"sign"/)
      const allowed = await ask(server.url, door, nth, 'ada')
      expect({ status: allowed.status, isPaid: (await allowed.text()).includes('paid') }).toEqual({
        status: 200,
        isPaid: true,
      })
    }
  })

  it.each([
    ['lf.a2a.v1', { ...newest, metadata: { fields: { skillId: { stringValue: 'pay' } } } }],
    ['a2a.v1', { ...proto, metadata: { fields: { skillId: { stringValue: 'pay' } } } }],
  ])(
    'is refused over gRPC of %s with PERMISSION_DENIED and what is missing, also as a stream',
    async (name, params) => {
      const { server } = await open()
      const client = grpcClient(server.port)
      const asking = { metadata: { 'x-api-key': 'bob' } }
      const failed = await client.unary(`${name}.A2AService/SendMessage`, params, asking).catch((error) => error)
      expect(failed).toMatchObject({ code: 7, details: text })
      const { status, messages } = await readAll(
        client.stream(`${name}.A2AService/SendStreamingMessage`, params, asking),
      )
      expect({ code: status.code, details: status.details, messages }).toEqual({ code: 7, details: text, messages: [] })
      const paid = await client.unary(`${name}.A2AService/SendMessage`, params, { metadata: { 'x-api-key': 'ada' } })
      expect(JSON.stringify(paid)).toContain('paid')
    },
  )

  it.each([
    [false, 403, { code: -31403, message: text }],
    [true, 403, { code: -32603, message: "Forbidden: Insufficient permissions for skill 'pay'" }],
  ])('is refused to the house in its own words if houseCodes is %s', async (houseCodes, status, error) => {
    const { server } = await open({ dialects: { house: { codes: houseCodes } } })
    for (const method of ['message/send', 'message/stream']) {
      const refused = await fetch(`${server.url}/api/a2a`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': 'bob' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params: kind }),
      })
      expect(refused.status).toBe(status)
      expect(await refused.json()).toMatchObject({ id: 7, error })
    }
  })
})

describe('a skill that only some may use', async () => {
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
    ['in the metadata of the message', (skillId: string) => ({ message: { metadata: { skillId } } })],
    ['in that of the request', (skillId: string) => ({ metadata: { skillId } })],
    ['by the older name', (skillId: string) => ({ message: { metadata: { skill: skillId } } })],
  ])('cannot be named past an operator who takes messages for another one: %s', async (_, naming) => {
    const auth = { schemes, skillOf: () => 'talk' }
    const { wire } = await startTestServer(undefined, { auth, profile: { name: 'Test', skills: [talk, pay] } })
    const sendAs = async (key: string, skillId: string) => {
      const { message = {}, ...rest } = naming(skillId) as { message?: object }
      const params = { message: { ...newest.message, messageId: crypto.randomUUID(), ...message }, ...rest }
      return (await wire.call('SendMessage', params, { 'x-api-key': key })).status
    }
    expect(await sendAs('bob', 'pay')).toBe(403)
    expect(await sendAs('bob', 'talk')).toBe(200)
    expect(await sendAs('ada', 'pay')).toBe(200)
  })

  it('is needed for every message of a task that was begun for it, also if those do not name it', async () => {
    const { wire } = await startTestServer(undefined, {
      auth: { schemes },
      profile: { name: 'Test', skills: [talk, pay] },
    })
    const strong = { 'x-api-key': 'ada' }
    const opening = { message: { ...newest.message, metadata: { skillId: 'pay' } } }
    const begun = await wire.result<{ task: { id: string } }>('SendMessage', opening, strong)
    const taskId = begun.task.id
    const more = (headers: Readonly<Record<string, string>>) =>
      wire.call<{ task: object }>('SendMessage', sendParams('10', { taskId }), headers)
    for (const key of ['ada-weak', 'bob']) {
      const refused = await more({ 'x-api-key': key })
      // To bob it is no task at all.
      expect(refused.status).toBe(key === 'bob' ? 200 : 403)
      expect(refused.error?.code).toBe(key === 'bob' ? -32001 : -31403)
    }
    expect(JSON.stringify((await more(strong)).result)).toContain('paid 10')
  })
})
