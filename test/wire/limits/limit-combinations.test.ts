import pg from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { AgentImplementation } from '../../../src/core/agent/agent-function.ts'
import type { LimitOptions, Quota } from '../../../src/core/limits/limits.ts'
import { custom } from '../../../src/entries/auth.ts'
import { createPostgresLimits, createPostgresLog } from '../../../src/entries/postgres.ts'
import { deferred } from '../../support/async.ts'
import { createDatabase, startServerFirst } from '../../support/postgres/database.ts'
import { startTestServer, type TestServerOptions } from '../../support/servers/test-server.ts'

startServerFirst()

/** Trusts the name and tenant in the headers. */
const auth = {
  schemes: {
    name: custom({
      card: { type: 'api-key', location: 'header', name: 'x-name' },
      authenticate: ({ header }) => ({ id: header('x-name') ?? 'anonymous', tenant: header('x-tenant') ?? 'none' }),
    }),
  },
}

interface Caller {
  readonly name: string
  readonly tenant: string
  readonly skill: string
}

const ann = { name: 'ann', tenant: 'acme', skill: 'dear' }

/** Per subject: a second caller who shares the quota, one who does not, and its options. */
const subjects: Readonly<Record<string, readonly [Caller, Caller, (quota: Quota) => LimitOptions]>> = {
  principal: [ann, { ...ann, name: 'bob' }, (perPrincipal) => ({ perPrincipal })],
  tenant: [{ ...ann, name: 'bob' }, { ...ann, tenant: 'other' }, (perTenant) => ({ perTenant })],
  skill: [{ ...ann, name: 'bob', tenant: 'other' }, { ...ann, skill: 'cheap' }, (dear) => ({ perSkill: { dear } })],
}

const quotas: Readonly<Record<string, Quota>> = {
  requests: { requests: { limit: 2, per: 600_000 } },
  turns: { turns: 2 },
  streams: { streams: 2 },
  queued: { queued: 2 },
}

const deployments: Readonly<
  Record<string, (limits: LimitOptions, run: () => Promise<string>) => Promise<readonly string[]>>
> = {
  'one process': async (limits, run) => [await startReplica(run, { limits })],
  'two replicas on PostgreSQL': startReplicas,
}

async function startReplica(run: AgentImplementation, options: TestServerOptions): Promise<string> {
  const profile = { name: 'Test', skills: ['dear', 'cheap'].map((id) => ({ id, name: id })) }
  return (await startTestServer(run, { auth, profile, ...options, turns: { taskAfter: 0 } })).server.url
}

async function startReplicas(limits: LimitOptions, run: () => Promise<string>): Promise<readonly string[]> {
  const { url, drop } = await createDatabase()
  onTestFinished(drop)
  const start = async () => {
    const pool = new pg.Pool({ connectionString: url })
    const [store, log] = [createPostgresLimits({ pool }), await createPostgresLog({ pool })]
    onTestFinished(async () => {
      await log.close()
      await store.close()
      await pool.end()
    })
    return await startReplica(run, { limits: { ...limits, store }, log })
  }
  return await Promise.all([start(), start()])
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

describe.each(Object.keys(deployments))('in %s', (deployment) => {
  describe.each(Object.keys(subjects))('a quota per %s', (subject) => {
    it.each(Object.keys(quotas))('the quota limits %s', async (kind) => {
      const { [subject]: [other, outsider, limitsOf] = expect.fail('is declared') } = subjects
      const done = deferred<string>()
      const start = deployments[deployment] ?? expect.fail('is declared')
      const urls = await start(limitsOf(quotas[kind] ?? {}), () =>
        kind === 'requests' ? Promise.resolve('hi') : done.promise,
      )
      const url = (n: number) => urls[n % urls.length] ?? ''
      const method = kind === 'streams' ? 'SendStreamingMessage' : 'SendMessage'
      /** Queued messages wait for a task of their sender that runs in the first process. */
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
        const rejected = await use(n, caller)
        expect(rejected.status).toBe(429)
        expect(Number(rejected.headers.get('retry-after'))).toBeGreaterThan(0)
        const { error } = (await rejected.json()) as { error: { code: number; message: string; data: object[] } }
        expect(error).toMatchObject({ code: -32053, message: expect.stringMatching(`^This ${subject} `) })
        expect(JSON.stringify(error.data)).toContain('google.rpc.RetryInfo')
      }
      expect((await use(1, outsider)).status).toBe(200)
      if (kind === 'requests') return
      done.resolve('done')
      if (kind === 'queued') return
      // The quota is available again when the running calls have ended.
      await expect.poll(async () => (await use(0, ann)).status, { timeout: 10_000 }).toBe(200)
    })
  })
})

it('a message for a task in another process is counted until that process takes it', async () => {
  const turns: PromiseWithResolvers<string>[] = []
  const run = () => {
    const turn = Promise.withResolvers<string>()
    turns.push(turn)
    return turn.promise
  }
  const [first = '', second = ''] = await startReplicas({ perPrincipal: { queued: 1 } }, run)
  const createTask = async () => {
    const { result } = (await (await send(first, ann)).json()) as { result: { task: { id: string } } }
    return result.task.id
  }
  const [firstTask, secondTask] = [await createTask(), await createTask()]
  expect((await send(second, ann, { taskId: firstTask })).status).toBe(200)
  expect((await send(second, ann, { taskId: secondTask })).status).toBe(429)
  expect((await send(first, ann, { taskId: secondTask })).status).toBe(429)
  turns[0]?.resolve('done')
  await expect.poll(() => turns.length).toBe(3)
  turns[2]?.resolve('done')
  await expect.poll(async () => (await send(second, ann, { taskId: secondTask })).status, { timeout: 10_000 }).toBe(200)
  for (const { resolve } of turns) resolve('done')
})

describe('the quota of a skill for messages that do not name it', () => {
  const dear = { requests: { limit: 2, per: 600_000 } }
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

  it('the only skill of an agent is counted', async () => {
    const profile = { name: 'Test', skills: [{ id: 'dear', name: 'Dear' }] }
    const url = await startReplica(async () => 'hi', { limits: { perSkill: { dear } }, profile })
    for (const status of [200, 200, 429]) expect((await statusOf(url)).status).toBe(status)
  })

  it('the skill of the task is counted', async () => {
    const run: AgentImplementation = async (turn) => turn.requireInput('more?')
    const url = await startReplica(run, { limits: { perSkill: { dear } } })
    const { taskId } = await statusOf(url, { metadata: { skillId: 'dear' } })
    expect(taskId).toBeDefined()
    for (const status of [200, 429]) expect((await statusOf(url, { taskId })).status).toBe(status)
    expect((await statusOf(url)).status).toBe(200)
  })
})
