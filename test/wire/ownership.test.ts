import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/client/connect.ts'
import type { Binding, DialectName } from '../../src/dialects/dialect.ts'
import { v0_3HouseClient } from '../../src/dialects/v0.3-house/client.ts'
import { apiKey, hashApiKey } from '../../src/entries/auth.ts'
import { grpc } from '../../src/node/grpc-client.ts'
import type { A2AError } from '../../src/protocol/errors.ts'
import type { Operation, Service } from '../../src/protocol/service.ts'
import { createJsonRpcClient } from '../../src/transports/jsonrpc/client.ts'
import { callOf, messageOf, taskOf } from '../support/agents/test-runtime.ts'
import { collect } from '../support/async.ts'
import { startTestServer } from '../support/servers/test-server.ts'
import { dialectBindings } from '../support/wire/dialect-bindings.ts'

/** What nobody but alice may ever read. */
const planted = 'planted-secret'

const keys = await Promise.all(['alice', 'bob'].map(async (id) => ({ id, hash: await hashApiKey(id) })))
const schemes = { key: apiKey({ keys }) }

type Who = 'alice' | 'bob' | 'nobody'
type Speak = (who: Who) => Promise<Service>

/** A server that knows alice and bob, and a caller of one dialect over one binding. */
async function open(
  dialect: DialectName,
  binding: Binding,
  anonymous: boolean,
): Promise<Speak & { readonly url: string }> {
  const { server } = await startTestServer(
    async (turn) => {
      await turn.artifact('answer').close(`about ${turn.text}`)
      await turn.requireInput('more?')
    },
    { auth: { schemes, anonymous }, grpc: true, push: { fetch: nowhere } },
  )
  const speak: Speak = async (who) => {
    const headers = headersOf(who)
    if (dialect === 'v0.3-house') {
      const ask: typeof fetch = (url, init) =>
        fetch(url, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers } })
      return createJsonRpcClient({ url: `${server.url}/api/a2a`, dialect: v0_3HouseClient, fetch: ask as never })
    }
    const transport = binding === 'GRPC' ? grpc({ loopback: 'allow' }) : undefined
    onTestFinished(() => transport?.close())
    const authorize = () => ({ headers })
    const bindings = [transport ?? binding]
    return (await connect(server.url, { dialects: [dialect], bindings, authorize, retry: { tries: 1 } })).service
  }
  return Object.assign(speak, { url: server.url })
}

/** What is told to webhooks is of no interest here. */
const nowhere = Object.assign(async () => new Response(null, { status: 204 }), { check: async () => {} })

function headersOf(who: Who): Readonly<Record<string, string>> {
  return who === 'nobody' ? {} : { 'x-api-key': who }
}

/** Every operation, asked about a task. */
const operations: Readonly<Record<Operation, (service: Service, taskId: string) => Promise<unknown>>> = {
  sendMessage: (service, taskId) => service.sendMessage({ message: messageOf('x', { taskId }) }, callOf()),
  streamMessage: (service, taskId) => collect(service.streamMessage({ message: messageOf('x', { taskId }) }, callOf())),
  getTask: (service, taskId) => service.getTask({ taskId }, callOf()),
  listTasks: (service) => service.listTasks({ contextId: 'shared', includeArtifacts: true }, callOf()),
  cancelTask: (service, taskId) => service.cancelTask({ taskId }, callOf()),
  subscribeToTask: (service, taskId) => collect(service.subscribeToTask({ taskId }, callOf())),
  createPushConfig: (service, taskId) => service.createPushConfig({ taskId, url: 'https://x.test/' }, callOf()),
  getPushConfig: (service, taskId) => service.getPushConfig({ taskId, id: 'p' }, callOf()),
  listPushConfigs: (service, taskId) => service.listPushConfigs({ taskId }, callOf()),
  deletePushConfig: (service, taskId) => service.deletePushConfig({ taskId, id: 'p' }, callOf()),
  getExtendedCard: (service) => service.getExtendedCard({}, callOf()),
}

const unknown = '000000000000-00000000000000000000000000000000'

/** How an operation ended, as far as its caller can tell, with every id as if it were the unknown one. */
async function told(work: Promise<unknown>, taskId: string): Promise<string> {
  const outcome = await work.then(
    (result) => ({ result }),
    ({ code, message, status, violations }: A2AError) => ({ code, message, status, violations }),
  )
  return JSON.stringify(outcome).replaceAll(taskId, unknown)
}

/** In 0.1 the caller names the task: one that is not its own yet is begun. */
function begins(dialect: DialectName, operation: Operation): boolean {
  return dialect === 'v0.1' && (operation === 'sendMessage' || operation === 'streamMessage')
}

/** A task of alice's that has her words, a webhook, an idempotency key, and in 0.1 a name. */
async function beginIn(dialect: DialectName, speak: Speak) {
  const alice = await speak('alice')
  const message = messageOf(planted, { contextId: 'shared' })
  const isNamed = dialect === 'v0.1'
  const sending = { message, ...(isNamed && { alias: 'of-alice' }) }
  const task = taskOf(await alice.sendMessage(sending, callOf({ idempotencyKey: 'k' })))
  const address = { taskId: task.id, ...(isNamed && { isAlias: true }) }
  await alice.createPushConfig({ ...address, id: 'p', url: `https://${planted}.test/` }, callOf())
  return { alice, task, address }
}

describe.each(dialectBindings)('in %s over %s', (dialect, binding) => {
  const begin = (speak: Speak) => beginIn(dialect, speak)

  it.each(Object.keys(operations) as Operation[])('%s gives nobody what is alice’s', async (operation) => {
    const speak = await open(dialect, binding, true)
    const { alice, task, address } = await begin(speak)
    for (const who of ['bob', 'nobody'] as const) {
      const service = await speak(who)
      const asked = await told(operations[operation](service, task.id), task.id)
      expect(asked).not.toContain(planted)
      if (begins(dialect, operation)) continue
      expect(asked).toBe(await told(operations[operation](await speak(who), unknown), unknown))
    }
    const after = await alice.getTask(address, callOf())
    expect((await alice.getPushConfig({ ...address, id: 'p' }, callOf())).url).toBe(`https://${planted}.test/`)
    expect(after.status.state).toBe('input-required')
    expect(JSON.stringify(after)).toContain(`about ${planted}`)
    expect(JSON.stringify(after.history)).not.toContain('"x"')
  })

  it.each(Object.keys(operations) as Operation[])('%s asks nobody in particular who it is', async (operation) => {
    const speak = await open(dialect, binding, false)
    const { task } = await begin(speak)
    const service = await speak('nobody')
    const outcome = await told(operations[operation](service, task.id), task.id)
    // What a dialect has no word for is refused by the client itself.
    expect(outcome).toMatch(/"code":"(unauthenticated|method-not-found|unsupported-operation)"/)
    expect(outcome).not.toContain(planted)
  })

  it('bob lists nothing of alice’s, also if he names no context, and sees as many as he has', async () => {
    const speak = await open(dialect, binding, true)
    await begin(speak)
    const bob = await speak('bob')
    const list = () => bob.listTasks({ includeArtifacts: true }, callOf())
    const outcome = await list().catch(({ code }: A2AError) => code)
    // Not every dialect has a word for it.
    if (typeof outcome === 'string') expect(outcome).toMatch(/^(method-not-found|unsupported-operation)$/)
    else expect(outcome).toMatchObject({ tasks: [], totalSize: 0 })
    if (dialect !== 'v1.0') return
    const own = taskOf(await bob.sendMessage({ message: messageOf('mine', { contextId: 'shared' }) }, callOf()))
    expect(await list()).toMatchObject({ tasks: [{ id: own.id }], totalSize: 1 })
  })

  it.each(['bob', 'nobody'] as const)('a key of alice’s is no key of %s', async (who) => {
    const speak = await open(dialect, binding, true)
    const { task } = await begin(speak)
    const other = await speak(who)
    const alias = dialect === 'v0.1' ? { alias: 'of-alice' } : {}
    const send = (text: string) =>
      other.sendMessage({ message: messageOf(text), ...alias }, callOf({ idempotencyKey: 'k' }))
    const own = taskOf(await send('mine'))
    expect(own.id === task.id).toBe(dialect === 'v0.1')
    expect(JSON.stringify(own)).toContain('mine')
    expect(JSON.stringify(own)).not.toContain(planted)
    // Nor is what alice has said the reason for a refusal: the same key for other words of one's own is.
    const again = await told(send('something else'), own.id)
    expect(again).not.toContain(planted)
  })

  it.each(['bob', 'nobody'] as const)('a reference to alice’s task tells %s nothing', async (who) => {
    const speak = await open(dialect, binding, true)
    const { task } = await begin(speak)
    const other = await speak(who)
    const refer = async (taskId: string) => {
      const message = messageOf('see', { referenceTaskIds: [taskId] })
      const { id, contextId, status, artifacts } = taskOf(await other.sendMessage({ message }, callOf()))
      const text = JSON.stringify({ status, artifacts })
      return [id, contextId, taskId].reduce((rest, each) => rest.replaceAll(each, ''), text).replace(variable, '')
    }
    // In 0.1 there are no references, and every message begins a task of a new name.
    const referred = await refer(task.id)
    expect(referred).not.toContain(planted)
    expect(referred).toBe(await refer(unknown))
  })
})

/** Ids and times, which are never the same twice. */
const variable = /"(?:messageId|artifactId|timestamp)":"[^"]*",?/g

describe.each(dialectBindings.filter(([, binding]) => binding === 'JSONRPC'))(
  'what is remembered of a task of %s',
  (dialect) => {
    /** Methods that several dialects have, asked without a version: only what is remembered tells which is meant. */
    const methods = ['tasks/get', 'tasks/cancel', 'tasks/resubscribe', 'GetTask', 'CancelTask', 'SubscribeToTask']

    it('is told to nobody but alice, by no method and at no door', async () => {
      const speak = await open(dialect, 'JSONRPC', true)
      const { url } = speak
      const { task } = await beginIn(dialect, speak)
      const ids = new Set([task.id, await idOf(url)])
      for (const door of ['/', '/api/a2a']) {
        for (const method of methods) {
          const ask = async (who: Who, id: string) => {
            const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { id } })
            const headers = { 'content-type': 'application/json', ...headersOf(who) }
            const response = await fetch(`${url}${door}`, { method: 'POST', headers, body })
            const type = response.headers.get('content-type')
            return `${response.status} ${type} ${await response.text()}`.replaceAll(id, unknown)
          }
          for (const id of ids) {
            for (const who of ['bob', 'nobody'] as const) expect(await ask(who, id)).toBe(await ask(who, unknown))
          }
          if (door === '/' && method === 'tasks/get') expect(await ask('alice', task.id)).toContain(planted)
        }
      }
    })

    /** Of the only task, by the name that the house has for it. */
    async function idOf(url: string): Promise<string> {
      const client = await connect(url, { dialects: ['v1.0'], authorize: () => ({ headers: headersOf('alice') }) })
      const { tasks } = await client.service.listTasks({}, callOf())
      return tasks[0]?.id ?? expect.fail('alice has no task')
    }
  },
)
