import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AgentImplementation } from '../../src/agent/agent-function.ts'
import { custom } from '../../src/entries/auth.ts'
import { createPostgresLimits, createPostgresLog } from '../../src/entries/postgres.ts'
import type { LimitOptions, Quota } from '../../src/limits/limits.ts'
import { deferred } from '../support/async.ts'
import { createDatabase, startServerFirst } from '../support/postgres/database.ts'
import { startTestServer, type TestServerOptions } from '../support/servers/test-server.ts'

startServerFirst()

/** Whoever says a name and a tenant is believed. */
const auth = {
  schemes: {
    name: custom({
      card: { type: 'api-key', location: 'header', name: 'x-name' },
      authenticate: ({ header }) => ({ id: header('x-name') ?? 'nobody', tenant: header('x-tenant') ?? 'none' }),
    }),
  },
}

interface Caller {
  readonly name: string
  readonly tenant: string
  readonly skill: string
}

const ann = { name: 'ann', tenant: 'acme', skill: 'dear' }

/** Who pays: two who share it, one who does not, and how it is declared. */
const payers: Readonly<Record<string, readonly [Caller, Caller, (allowance: Quota) => LimitOptions]>> = {
  principal: [ann, { ...ann, name: 'bob' }, (perPrincipal) => ({ perPrincipal })],
  tenant: [{ ...ann, name: 'bob' }, { ...ann, tenant: 'other' }, (perTenant) => ({ perTenant })],
  skill: [{ ...ann, name: 'bob', tenant: 'other' }, { ...ann, skill: 'cheap' }, (dear) => ({ perSkill: { dear } })],
}

const allowances: Readonly<Record<string, Quota>> = {
  requests: { requests: { limit: 2, window: 600 } },
  turns: { turns: 2 },
  streams: { streams: 2 },
  queued: { queued: 2 },
}

const places: Readonly<
  Record<string, (limits: LimitOptions, run: () => Promise<string>) => Promise<readonly string[]>>
> = {
  'one process': async (limits, run) => [await replica(run, { limits })],
  'two replicas on PostgreSQL': openReplicas,
}

async function replica(run: AgentImplementation, options: TestServerOptions): Promise<string> {
  const profile = { name: 'Test', skills: ['dear', 'cheap'].map((id) => ({ id, name: id })) }
  return (await startTestServer(run, { auth, profile, ...options, turns: { taskAfter: 0 } })).server.url
}

async function openReplicas(limits: LimitOptions, run: () => Promise<string>): Promise<readonly string[]> {
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  const open = async () => {
    const pool = new pg.Pool({ connectionString: url })
    const [store, log] = [createPostgresLimits({ pool }), await createPostgresLog({ pool })]
    onTestFinished(async () => {
      await log.close()
      await store.close()
      await pool.end()
    })
    return await replica(run, { limits: { ...limits, store }, log })
  }
  return await Promise.all([open(), open()])
}

async function send(url: string, caller: Caller, more: { method?: string; taskId?: string } = {}): Promise<Response> {
  const { method = 'SendMessage', taskId } = more
  const message = {
    messageId: crypto.randomUUID(),
    role: 'ROLE_USER',
    parts: [{ text: 'x' }],
    ...(taskId && { taskId }),
  }
  const configuration = method === 'SendMessage' ? { returnImmediately: true } : {}
  const params = { message, configuration, metadata: { skillId: caller.skill } }
  return await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      'x-name': caller.name,
      'x-tenant': caller.tenant,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
}

describe.each(Object.keys(places))('in %s', (place) => {
  describe.each(Object.keys(payers))('a %s has so many', (payer) => {
    it.each(Object.keys(allowances))('%s', async (kind) => {
      const { [payer]: [other, outsider, limitsOf] = expect.fail('is declared') } = payers
      const done = deferred<string>()
      const open = places[place] ?? expect.fail('is declared')
      const urls = await open(limitsOf(allowances[kind] ?? {}), () =>
        kind === 'requests' ? Promise.resolve('hi') : done.promise,
      )
      const url = (n: number) => urls[n % urls.length] ?? ''
      const method = kind === 'streams' ? 'SendStreamingMessage' : 'SendMessage'
      /** What waits does so for a task of its sender's, at work in the first process. */
      const tasks = new Map<Caller, string>()
      const use = async (n: number, caller: Caller) => {
        const taskId = tasks.get(caller)
        const response = await send(url(n), caller, { method, ...(taskId !== undefined && { taskId }) })
        onTestFinished(() => response.body?.cancel().catch(() => {}))
        return response
      }
      if (kind === 'queued') {
        for (const caller of [ann, other, outsider]) {
          const { result } = (await (await send(url(0), caller)).json()) as { result: { task: { id: string } } }
          tasks.set(caller, result.task.id)
        }
      }
      expect((await use(1, ann)).status).toBe(200)
      expect((await use(0, other)).status).toBe(200)
      for (const [n, caller] of [ann, other].entries()) {
        const refused = await use(n, caller)
        expect(refused.status).toBe(429)
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
        const { error } = (await refused.json()) as { error: { code: number; message: string; data: object[] } }
        expect(error).toMatchObject({ code: -32053, message: expect.stringMatching(`^This ${payer} `) })
        expect(JSON.stringify(error.data)).toContain('google.rpc.RetryInfo')
      }
      expect((await use(1, outsider)).status).toBe(200)
      if (kind === 'requests') return
      done.resolve('done')
      if (kind === 'queued') return
      // They come back when what had them is over.
      await expect.poll(async () => (await use(0, ann)).status, { timeout: 10_000 }).toBe(200)
    })
  })
})

it('a message for a task at work in another process is counted until that process takes it up', async () => {
  const turns: PromiseWithResolvers<string>[] = []
  const run = () => {
    const turn = Promise.withResolvers<string>()
    turns.push(turn)
    return turn.promise
  }
  const [first = '', second = ''] = await openReplicas({ perPrincipal: { queued: 1 } }, run)
  const begin = async () => {
    const { result } = (await (await send(first, ann)).json()) as { result: { task: { id: string } } }
    return result.task.id
  }
  const [one, another] = [await begin(), await begin()]
  expect((await send(second, ann, { taskId: one })).status).toBe(200)
  expect((await send(second, ann, { taskId: another })).status).toBe(429)
  expect((await send(first, ann, { taskId: another })).status).toBe(429)
  turns[0]?.resolve('done')
  await expect.poll(() => turns.length).toBe(3)
  turns[2]?.resolve('done')
  await expect.poll(async () => (await send(second, ann, { taskId: another })).status, { timeout: 10_000 }).toBe(200)
  for (const { resolve } of turns) resolve('done')
})

describe('a skill is counted, whoever does not name it', () => {
  const dear = { requests: { limit: 2, window: 600 } }
  const statusOf = async (url: string, more: object = {}) => {
    const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'x' }], ...more }
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-name': 'ann' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } }),
    })
    const { result } = (await response.json()) as { result?: { task?: { id: string } } }
    return { status: response.status, taskId: result?.task?.id }
  }

  it('because it is the only one', async () => {
    const profile = { name: 'Test', skills: [{ id: 'dear', name: 'Dear' }] }
    const url = await replica(async () => 'hi', { limits: { perSkill: { dear } }, profile })
    for (const status of [200, 200, 429]) expect((await statusOf(url)).status).toBe(status)
  })

  it('because its task was begun for it', async () => {
    const run: AgentImplementation = async (turn) => turn.requireInput('more?')
    const url = await replica(run, { limits: { perSkill: { dear } } })
    const { taskId } = await statusOf(url, { metadata: { skillId: 'dear' } })
    expect(taskId).toBeDefined()
    for (const status of [200, 429]) expect((await statusOf(url, { taskId })).status).toBe(status)
    expect((await statusOf(url)).status).toBe(200)
  })
})
