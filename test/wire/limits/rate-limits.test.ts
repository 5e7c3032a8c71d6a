import { type Metadata, type ServiceError, status } from '@grpc/grpc-js'
import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AgentFunction } from '../../../src/core/agent/agent-function.ts'
import type { LimitOptions } from '../../../src/core/limits/limits.ts'
import { custom } from '../../../src/entries/auth.ts'
import { createPostgresLimits } from '../../../src/entries/postgres.ts'
import { grpcClient, readAll } from '../../support/grpc/grpc-client.ts'
import { readDetails } from '../../support/grpc/status-details.ts'
import { createDatabase, startServerFirst } from '../../support/postgres/database.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'
import { sendParams } from '../../support/wire/wire-client.ts'

startServerFirst()

/** The caller names itself in a header. */
const auth = {
  schemes: {
    name: custom({
      card: { type: 'api-key', location: 'header', name: 'x-name' },
      authenticate: ({ header }) => ({ id: header('x-name') ?? 'anonymous', tenant: 'acme' }),
    }),
  },
}

async function open(limits: LimitOptions, options: TestServerOptions = {}, run: AgentFunction = async () => 'hi') {
  const { server } = await startTestServer(run, { auth, limits, ...options })
  return (
    name: string,
    version = '1.0',
    params: object = {},
    method = version === '1.0' ? 'SendMessage' : 'message/send',
  ) =>
    fetch(server.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': version, 'x-name': name },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...messageFor(version), ...params } }),
    })
}

function messageFor(version: string) {
  const messageId = crypto.randomUUID()
  return version === '1.0'
    ? { message: { messageId, role: 'ROLE_USER', parts: [{ text: 'x' }] } }
    : { message: { kind: 'message', messageId, role: 'user', parts: [{ kind: 'text', text: 'x' }] } }
}

const two = { requests: { limit: 2, per: 60_000 } }

describe('request limits', () => {
  it('requests are limited per principal, and every response has the rate-limit headers', async () => {
    const send = await open({ perPrincipal: two })
    const first = await send('ann')
    expect(first.status).toBe(200)
    expect(first.headers.get('x-ratelimit-limit')).toBe('2')
    expect(first.headers.get('x-ratelimit-remaining')).toBe('1')
    expect(Number(first.headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000 + 20)
    expect(first.headers.get('ratelimit-policy')).toBe('"principal";q=2;w=60')
    expect(first.headers.get('ratelimit')).toMatch(/^"principal";r=1;t=(29|30)$/)
    expect((await send('ann')).status).toBe(200)
    const third = await send('ann')
    expect(third.status).toBe(429)
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(20)
    expect(third.headers.get('x-ratelimit-remaining')).toBe('0')
    const { error } = (await third.json()) as { error: { code: number; data: readonly Record<string, string>[] } }
    expect(error.code).toBe(-32053)
    expect(error.data.find((each) => each['@type']?.endsWith('RetryInfo'))?.retryDelay).toMatch(/^\d+(\.\d+)?s$/)
    expect((await send('bob')).status).toBe(200)
  })

  it('a function returns the limits of each caller, and a wrong or failing one rejects the call', async () => {
    const plans: Readonly<Record<string, object>> = {
      free: two,
      large: { requests: { limit: 5, per: 60_000 } },
      wrong: { requests: { limit: 5 } },
    }
    const send = await open({
      perPrincipal({ id }) {
        if (id === 'broken') throw new Error('no plans')
        return plans[id]
      },
    })
    const statuses = async (name: string) => {
      const answers = []
      for (let n = 0; n < 6; n++) answers.push((await send(name)).status)
      return answers
    }
    expect(await statuses('free')).toEqual([200, 200, 429, 429, 429, 429])
    expect(await statuses('large')).toEqual([200, 200, 200, 200, 200, 429])
    expect(await statuses('unlimited')).toEqual([200, 200, 200, 200, 200, 200])
    for (const name of ['wrong', 'broken']) {
      const answer = await send(name)
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
      expect(await answer.text()).not.toContain('plans')
    }
  })

  it('limits of tokens and cost stop the turn that exceeds them and reject the next one', async () => {
    const hour = 3_600_000
    const budgets = { tokens: { limit: 100, per: hour }, cost: { limit: 50, per: hour } }
    const send = await open({ perPrincipal: budgets, currency: 'EUR' }, {}, async (turn) => {
      await turn.usage({ inputTokens: 60, cost: 20 })
      return 'hi'
    })
    expect(await (await send('ann')).json()).toMatchObject({ result: { message: { parts: [{ text: 'hi' }] } } })
    const text = 'This principal has used up its limit of 100 tokens in 3600000 ms: try again later.'
    const stopped = { state: 'TASK_STATE_FAILED', message: { parts: [{ text }] } }
    expect(await (await send('ann')).json()).toMatchObject({ result: { task: { status: stopped } } })
    const refused = await send('ann')
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ error: { code: -32053, message: text } })
    expect((await send('bob')).status).toBe(200)
  })

  it('window, in seconds, is refused with the name of per', async () => {
    const former = { perPrincipal: { requests: { limit: 1, window: 60 } } } as never
    await expect(open(former)).rejects.toThrow('requests.window: expected per, in milliseconds')
  })

  it('limits are a function of the principal, such as of its plan', async () => {
    const requests = (limit: number) => ({ perPrincipal: { requests: { limit, per: 600_000 } } })
    const plans: Readonly<Record<string, unknown>> = {
      free: requests(1),
      large: requests(3),
      wrong: { requests: { limit: 1, per: 60_000 } },
      shared: { ...requests(1), store: {} },
    }
    const limitsOf = ({ id }: { readonly id: string }) => plans[id] as never
    const send = await open(limitsOf as never)
    const statuses = async (name: string) => {
      const answers: number[] = []
      for (let n = 0; n < 4; n++) answers.push((await send(name)).status)
      return answers
    }
    expect(await statuses('free')).toEqual([200, 429, 429, 429])
    expect(await statuses('large')).toEqual([200, 200, 200, 429])
    expect(await statuses('unlimited')).toEqual([200, 200, 200, 200])
    // A plan that is wrong rejects the call, because no limit would hold.
    for (const name of ['wrong', 'shared']) expect((await send(name)).status).toBe(503)
  })

  it('limits that are neither an object nor a function are refused, and misspelled ones name the right one', async () => {
    await expect(open('many' as never)).rejects.toThrow('a function of the principal that returns perPrincipal')
    await expect(open({ perPrincipel: {} } as never)).rejects.toThrow('Did you mean perPrincipal?')
  })

  it('a limit of tokens needs a window and a store that counts amounts', async () => {
    const withTokens = (tokens: object, store?: object) =>
      startTestServer(async () => 'hi', {
        auth,
        limits: { perPrincipal: { tokens }, ...(store && { store }) } as never,
      })
    await expect(withTokens({ limit: 5 })).rejects.toThrow('limits.perPrincipal.tokens: expected limit and per')
    const store = { take: () => {}, hold: () => {} }
    await expect(withTokens({ limit: 5, per: 5 }, store)).rejects.toThrow('expected one with charge()')
  })

  it('a 0.3 request over the limit is rejected with the 0.3 error code', async () => {
    const send = await open({ perPrincipal: { requests: { limit: 1, per: 60_000 } } })
    await send('ann')
    const refused = await send('ann', '0.3')
    expect(refused.status).toBe(429)
    expect(await refused.json()).toMatchObject({ id: 1, error: { code: -32053 } })
  })

  it('requests are limited per tenant and per skill, across principals', async () => {
    const tenants = await open({ perTenant: two })
    expect(
      (await Promise.all(['a', 'b', 'c'].map((name) => tenants(name)))).map(({ status }) => status).sort(),
    ).toEqual([200, 200, 429])
    const skills = await open({ perSkill: { dear: two } })
    const dear = { metadata: { skillId: 'dear' } }
    for (const status of [200, 200, 429]) expect((await skills('a', '1.0', dear)).status).toBe(status)
    expect((await skills('a')).status).toBe(200)
  })

  it('responses without limits have no rate-limit headers, and invalid limits are an error at start', async () => {
    const send = await open({})
    expect((await send('ann')).headers.has('x-ratelimit-limit')).toBe(false)
    const wrong = { perPrincipal: { requests: { perSecond: 5 } } } as never
    await expect(open(wrong)).rejects.toThrow('limits.perPrincipal.requests.perSecond is not an option')
    await expect(open({ perPrincipal: { turns: 0 } })).rejects.toThrow(
      'limits.perPrincipal.turns: expected a number above 0, got 0',
    )
  })
})

describe('a request over the limit', () => {
  const once = { perPrincipal: { requests: { limit: 1, per: 60_000 } } }
  const one = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] }
  const kind = { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'x' }] }
  const typed = { role: 'user', parts: [{ type: 'text', text: 'x' }] }

  /** Name, path, version, body and expected error of every dialect and HTTP binding. */
  const bindings: readonly (readonly [string, string, string, object, object])[] = [
    ['0.1', '/', '', { method: 'tasks/send', params: { id: 't', message: typed } }, { code: -32010 }],
    ['0.2', '/', '0.2', { method: 'message/send', params: { message: kind } }, { code: -32053 }],
    ['0.3', '/', '0.3', { method: 'message/send', params: { message: kind } }, { code: -32053 }],
    ['house dialect', '/api/a2a', '0.3', { method: 'message/send', params: { message: kind } }, { code: -32053 }],
    ['1.0', '/', '1.0', { method: 'SendMessage', params: { message: one } }, { code: -32053 }],
    ['0.3 REST', '/v1/message:send', '0.3', { message: kind }, { code: 429, status: 'RESOURCE_EXHAUSTED' }],
    ['1.0 REST', '/message:send', '1.0', { message: one }, { code: 429, status: 'RESOURCE_EXHAUSTED' }],
  ]

  it.each(bindings)(
    'a %s request over the limit gets its error code, 429 and all headers',
    async (_, path, version, call, error) => {
      const { server } = await startTestServer(async () => 'hi', { auth, limits: once })
      const isRpc = !path.includes('message')
      const body = JSON.stringify(isRpc ? { jsonrpc: '2.0', id: 7, ...call } : call)
      const headers = {
        'content-type': 'application/json',
        'x-name': 'ann',
        ...(version && { 'a2a-version': version }),
      }
      const send = () => fetch(`${server.url}${path}`, { method: 'POST', headers, body })
      expect((await send()).status).toBe(200)
      const refused = await send()
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(50)
      expect(refused.headers.get('x-ratelimit-limit')).toBe('1')
      expect(refused.headers.get('x-ratelimit-remaining')).toBe('0')
      expect(refused.headers.get('ratelimit')).toContain('"principal";r=0')
      expect(await refused.json()).toMatchObject(isRpc ? { id: 7, error } : { error })
    },
  )

  it('a call over the limit gets RESOURCE_EXHAUSTED and RetryInfo in both gRPC services', async () => {
    const { server } = await startTestServer(async () => 'hi', { auth, limits: once, grpc: true })
    const client = grpcClient(server.port)
    const asking = (name: string) => ({ metadata: { 'x-name': name } })
    const older = { request: { messageId: 'm', role: 'ROLE_USER', content: [{ text: 'x' }] } }
    for (const [service, request] of [
      ['lf.a2a.v1', { message: one }],
      ['a2a.v1', older],
    ] as const) {
      const method = `${service}.A2AService/SendMessage`
      await client.unary(method, request, asking(service))
      const error: ServiceError = await client.unary(method, request, asking(service)).catch((thrown) => thrown)
      expect(error.code).toBe(status.RESOURCE_EXHAUSTED)
      expect(error.metadata.get('x-ratelimit-limit')).toEqual(['1'])
      expect(error.metadata.get('x-ratelimit-remaining')).toEqual(['0'])
      expect(error.metadata.get('ratelimit')[0]).toContain('"principal";r=0')
      if (service === 'lf.a2a.v1') expect(readDetails(error)).toContain('RetryInfo')
    }
  })
})

it('every gRPC response has the rate-limit headers in its metadata, also with a deadline and for streams', async () => {
  const limits = { perPrincipal: { requests: { limit: 10, per: 600_000 } } }
  const { server } = await startTestServer(async () => 'hi', { auth, limits, grpc: true })
  const client = grpcClient(server.port)
  const metadata = { 'x-name': 'ann' }
  const request = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'x' }] } }
  for (const [remaining, asking] of [
    ['9', { metadata }],
    ['8', { metadata, deadline: Date.now() + 30_000 }],
  ] as const) {
    const stream = client.stream('lf.a2a.v1.A2AService/SendStreamingMessage', request, asking)
    const initial = new Promise<Metadata>((resolve) => stream.once('metadata', resolve))
    expect((await readAll(stream)).status.code).toBe(status.OK)
    expect((await initial).get('x-ratelimit-remaining')).toEqual([remaining])
    expect((await initial).get('ratelimit-policy')).toEqual(['"principal";q=10;w=600'])
  }
  const unknown: ServiceError = await client
    .unary('lf.a2a.v1.A2AService/GetTask', { id: 'none' }, { metadata })
    .catch((thrown) => thrown)
  expect(unknown.code).toBe(status.NOT_FOUND)
  expect(unknown.metadata.get('x-ratelimit-remaining')).toEqual(['7'])
})

describe('concurrency limits', () => {
  it('a queued message is no longer counted once its turn starts', async () => {
    const gates = new Map<string, PromiseWithResolvers<void>>()
    const gateOf = (text: string) => {
      const gate = gates.get(text) ?? Promise.withResolvers<void>()
      gates.set(text, gate)
      return gate
    }
    const { wire } = await startTestServer(
      async (turn) => {
        await turn.status('working', `at ${turn.text}`)
        await gateOf(turn.text).promise
      },
      { auth, limits: { perPrincipal: { queued: 1 } }, drainDeadline: 0 },
    )
    const headers = { 'x-name': 'ann' }
    const configuration = { returnImmediately: true }
    const { id: taskId } = await wire.sendTask('first', { configuration }, headers)
    const more = async (text: string) =>
      (await wire.call('SendMessage', sendParams(text, { taskId, configuration }), headers)).status
    expect(await more('second')).toBe(200)
    expect(await more('third')).toBe(429)
    gateOf('first').resolve()
    await expect
      .poll(async () => JSON.stringify(await wire.call('GetTask', { id: taskId }, headers)))
      .toContain('at second')
    expect(await more('third')).toBe(200)
    expect(await more('fourth')).toBe(429)
    for (const text of ['second', 'third']) gateOf(text).resolve()
  })

  it('queued messages are limited per principal across its tasks', async () => {
    let gate = Promise.withResolvers<string>()
    const send = await open({ perPrincipal: { queued: 2 } }, { turns: { taskAfter: 0 } }, () => gate.promise)
    const background = { configuration: { returnImmediately: true } }
    const begin = async (name: string) => {
      const { result } = (await (await send(name, '1.0', background)).json()) as { result: { task: { id: string } } }
      return result.task.id
    }
    const more = (name: string, taskId: string) =>
      send(name, '1.0', { message: { ...messageFor('1.0').message, taskId }, ...background })
    const [one, two, other] = [await begin('ann'), await begin('ann'), await begin('bob')]
    expect((await more('ann', one)).status).toBe(200)
    expect((await more('ann', two)).status).toBe(200)
    const refused = await more('ann', one)
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('1')
    expect(((await refused.json()) as { error: { message: string } }).error.message).toContain('2 waiting messages')
    expect((await more('bob', other)).status).toBe(200)
    gate.resolve('done')
    for (const id of [one, two]) {
      await expect
        .poll(async () => await (await send('ann', '1.0', { id }, 'GetTask')).text())
        .toContain('TASK_STATE_COMPLETED')
    }
    gate = Promise.withResolvers()
    const third = await begin('ann')
    // The earlier messages are answered, so one may be queued behind the running turn.
    await expect.poll(async () => (await more('ann', third)).status).toBe(200)
    gate.resolve('done')
  })

  it('a turn is no longer counted when it ends, even if no caller waited for it', async () => {
    const gate = Promise.withResolvers<string>()
    const send = await open({ perPrincipal: { turns: 1 } }, {}, () => gate.promise)
    const background = { configuration: { returnImmediately: true } }
    expect((await send('ann', '1.0', background)).status).toBe(200)
    expect((await send('ann', '1.0', background)).status).toBe(429)
    expect((await send('bob', '1.0', background)).status).toBe(200)
    gate.resolve('done')
    await expect.poll(async () => (await send('ann')).status).toBe(200)
  })

  it('a stream is no longer counted when its reader disconnects', async () => {
    const gate = Promise.withResolvers<string>()
    const send = await open({ perPrincipal: { streams: 1 } }, { turns: { taskAfter: 0 } }, () => gate.promise)
    const open1 = await send('ann', '1.0', {}, 'SendStreamingMessage')
    expect(open1.status).toBe(200)
    const refused = await send('ann', '1.0', {}, 'SendStreamingMessage')
    expect(refused.status).toBe(429)
    await open1.body?.cancel()
    await expect
      .poll(async () => {
        const again = await send('ann', '1.0', {}, 'SendStreamingMessage')
        await again.body?.cancel()
        return again.status
      })
      .toBe(200)
    gate.resolve('done')
  })
})

describe('limits in PostgreSQL', () => {
  it('two replicas share the limits of each plan', async () => {
    const { url, drop } = await createDatabase()
    onTestFinished(drop)
    const replica = async () => {
      const pool = new pg.Pool({ connectionString: url })
      const store = createPostgresLimits({ pool })
      onTestFinished(async () => {
        await store.close()
        await pool.end()
      })
      const hour = 3_600_000
      const perPrincipal = ({ id }: { readonly id: string }) => ({
        requests: { limit: id === 'ann' ? 4 : 2, per: hour },
      })
      return await open({ perPrincipal, store })
    }
    const replicas = [await replica(), await replica()] as const
    for (const [name, allowed] of [
      ['ann', 4],
      ['bob', 2],
    ] as const) {
      const statuses = []
      for (let n = 0; n < 6; n++) statuses.push((await replicas[n % 2 === 0 ? 0 : 1](name)).status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(allowed)
    }
  }, 60_000)

  it('two replicas share their limits', async () => {
    const { url, drop } = await createDatabase()
    const replica = async (limits: LimitOptions, run = async () => 'hi' as string) => {
      const pool = new pg.Pool({ connectionString: url })
      const store = createPostgresLimits({ pool })
      onTestFinished(async () => {
        await store.close()
        await pool.end()
      })
      return await open({ ...limits, store }, {}, run)
    }
    onTestFinished(drop)
    const gate = Promise.withResolvers<string>()
    const rules = { perPrincipal: { requests: { limit: 10, per: 600_000 }, turns: 3 } }
    const replicas = [await replica(rules, () => gate.promise), await replica(rules, () => gate.promise)] as const
    const background = { configuration: { returnImmediately: true } }
    const begun = await Promise.all([0, 1, 0, 1, 0, 1].map((n) => replicas[n === 0 ? 0 : 1]('ann', '1.0', background)))
    expect(begun.filter(({ status }) => status === 200)).toHaveLength(3)
    gate.resolve('done')
    await expect.poll(async () => (await replicas[0]('eve')).status).toBe(200)
    const rest = await Promise.all([0, 1, 0, 1, 0, 1, 0, 1].map((n) => replicas[n === 0 ? 0 : 1]('ann')))
    expect(rest.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(4)
    const last = await replicas[1]('ann')
    expect(last.status).toBe(429)
    expect(last.headers.get('x-ratelimit-remaining')).toBe('0')
  }, 60_000)
})
