import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../../src/core/client/connect.ts'
import type { Binding } from '../../../src/core/dialects/dialect.ts'
import { v0_3HouseClient } from '../../../src/core/dialects/v0.3-house/client.ts'
import type { DialectName } from '../../../src/core/dialects/versions.ts'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import type { A2AError } from '../../../src/core/protocol/errors.ts'
import type { Operation, Service } from '../../../src/core/protocol/service.ts'
import { createJsonRpcClient } from '../../../src/core/transports/jsonrpc/client.ts'
import { custom } from '../../../src/entries/auth.ts'
import { callOf, messageOf, taskOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import { shareTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'

/** Text that only alice may read. */
const planted = 'planted-secret'

type Caller = 'alice' | 'bob' | 'an anonymous caller'

/** The callers of one test. Their ids are new, so that the tests can share the servers. */
interface Callers {
  readonly url: string
  /** Alice's idempotency key, and in 0.1 her task id. */
  readonly key: string
  connect(caller: Caller): Promise<Service>
  headersOf(caller: Caller): Readonly<Record<string, string>>
}

/** Webhooks are accepted and dropped. */
const nowhere = Object.assign(async () => new Response(null, { status: 204 }), { check: async () => {} })

const named = custom({
  card: { type: 'api-key', location: 'header', name: 'x-name' },
  authenticate({ header }) {
    const id = header('x-name')
    return id === undefined ? undefined : { id }
  },
})

const serverOf = (anonymous: boolean) =>
  shareTestServer(
    async (turn) => {
      await turn.artifact('answer').close(`about ${turn.text}`)
      await turn.requireInput('more?')
    },
    {
      auth: { schemes: { named }, anonymous },
      grpc: true,
      push: { fetch: nowhere },
      dialects: { house: { holdStreamOnInput: false } },
    },
  )
const serverWithAnonymous = serverOf(true)
const serverWithoutAnonymous = serverOf(false)

/** Callers in one dialect over one binding. */
function createCallers(dialect: DialectName, binding: Binding, anonymous: boolean): Callers {
  const { url } = (anonymous ? serverWithAnonymous : serverWithoutAnonymous)().server
  const suffix = crypto.randomUUID()
  const headersOf = (caller: Caller): Record<string, string> =>
    caller === 'an anonymous caller' ? {} : { 'x-name': `${caller}-${suffix}` }
  const connectAs = async (caller: Caller): Promise<Service> => {
    const headers = headersOf(caller)
    if (dialect === 'v0.3-house') {
      const ask: typeof fetch = (input, init) =>
        fetch(input, { ...init, headers: { ...Object.fromEntries(new Headers(init?.headers)), ...headers } })
      return createJsonRpcClient({ url: `${url}/api/a2a`, dialect: v0_3HouseClient, fetch: ask as never })
    }
    const transport = binding === 'GRPC' ? grpc({ loopback: 'allow' }) : undefined
    onTestFinished(() => transport?.close())
    const authorize = () => ({ headers })
    const bindings = [transport ?? binding]
    return (await connect(url, { dialects: [dialect], bindings, authorize, retry: { tries: 1 } })).service
  }
  return { url, key: suffix, connect: connectAs, headersOf }
}

/** Every operation, called for one task. */
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

/** The result or error as the caller sees it, with the task id replaced by the unknown one. */
async function outcomeOf(work: Promise<unknown>, taskId: string): Promise<string> {
  const outcome = await work.then(
    (result) => ({ result }),
    ({ code, message, status, violations }: A2AError) => ({ code, message, status, violations }),
  )
  return JSON.stringify(outcome).replaceAll(taskId, unknown)
}

/** Where callers choose the ids of their tasks, a message with the id of another caller's task starts a new task. */
function startsTask(dialect: DialectName, operation: Operation): boolean {
  const ownIds = dialect === 'v0.1' || dialect === 'v0.3-house'
  return ownIds && (operation === 'sendMessage' || operation === 'streamMessage')
}

/** Alice's task with her text, a webhook, an idempotency key, and in 0.1 an alias. */
async function beginIn(dialect: DialectName, callers: Callers) {
  const alice = await callers.connect('alice')
  const message = messageOf(planted, { contextId: 'shared' })
  const isNamed = dialect === 'v0.1'
  const { key } = callers
  const sending = { message, ...(isNamed && { quirks: { alias: key } }) }
  const task = taskOf(await alice.sendMessage(sending, callOf({ idempotencyKey: key })))
  const address = { taskId: task.id, ...(isNamed && { isAlias: true }) }
  await alice.createPushConfig({ ...address, id: 'p', url: `https://${planted}.test/` }, callOf())
  return { alice, task, address }
}

describe.each(dialectBindings)('in %s over %s', (dialect, binding) => {
  const begin = (callers: Callers) => beginIn(dialect, callers)

  it.each(Object.keys(operations) as Operation[])(
    '%s reveals and changes nothing of alice’s task for other callers',
    async (operation) => {
      const callers = createCallers(dialect, binding, true)
      const { alice, task, address } = await begin(callers)
      for (const caller of ['bob', 'an anonymous caller'] as const) {
        const service = await callers.connect(caller)
        const asked = await outcomeOf(operations[operation](service, task.id), task.id)
        expect(asked).not.toContain(planted)
        if (startsTask(dialect, operation)) continue
        expect(asked).toBe(await outcomeOf(operations[operation](await callers.connect(caller), unknown), unknown))
      }
      const after = await alice.getTask(address, callOf())
      expect((await alice.getPushConfig({ ...address, id: 'p' }, callOf())).url).toBe(`https://${planted}.test/`)
      expect(after.status.state).toBe('input-required')
      expect(JSON.stringify(after)).toContain(`about ${planted}`)
      expect(JSON.stringify(after.history)).not.toContain('"x"')
    },
  )

  it.each(Object.keys(operations) as Operation[])('%s is rejected without credentials', async (operation) => {
    const callers = createCallers(dialect, binding, false)
    const { task } = await begin(callers)
    const service = await callers.connect('an anonymous caller')
    const outcome = await outcomeOf(operations[operation](service, task.id), task.id)
    // The client itself rejects operations that the dialect lacks.
    expect(outcome).toMatch(/"code":"(unauthenticated|method-not-found|unsupported-operation)"/)
    expect(outcome).not.toContain(planted)
  })

  it('bob lists and counts only his own tasks, with or without a context', async () => {
    const callers = createCallers(dialect, binding, true)
    await begin(callers)
    const bob = await callers.connect('bob')
    const list = () => bob.listTasks({ includeArtifacts: true }, callOf())
    const outcome = await list().catch(({ code }: A2AError) => code)
    // Some dialects cannot list tasks.
    if (typeof outcome === 'string') expect(outcome).toMatch(/^(method-not-found|unsupported-operation)$/)
    else expect(outcome).toMatchObject({ tasks: [], totalSize: 0 })
    if (dialect !== 'v1.0') return
    const own = taskOf(await bob.sendMessage({ message: messageOf('mine', { contextId: 'shared' }) }, callOf()))
    expect(await list()).toMatchObject({ tasks: [{ id: own.id }], totalSize: 1 })
  })

  it.each(['bob', 'an anonymous caller'] as const)(
    'an idempotency key of alice is not shared with %s',
    async (caller) => {
      const callers = createCallers(dialect, binding, true)
      const { task } = await begin(callers)
      const other = await callers.connect(caller)
      const alias = dialect === 'v0.1' ? { quirks: { alias: callers.key } } : {}
      const send = (text: string) =>
        other.sendMessage({ message: messageOf(text), ...alias }, callOf({ idempotencyKey: callers.key }))
      const own = taskOf(await send('mine'))
      expect(own.id === task.id).toBe(dialect === 'v0.1')
      expect(JSON.stringify(own)).toContain('mine')
      expect(JSON.stringify(own)).not.toContain(planted)
      // Reusing the key with another text conflicts with the caller's own message, not with alice's.
      const again = await outcomeOf(send('something else'), own.id)
      expect(again).not.toContain(planted)
    },
  )

  it.each(['bob', 'an anonymous caller'] as const)(
    'a reference to alice’s task reveals nothing to %s',
    async (caller) => {
      const callers = createCallers(dialect, binding, true)
      const { task } = await begin(callers)
      const other = await callers.connect(caller)
      const refer = async (taskId: string) => {
        const message = messageOf('see', { referenceTaskIds: [taskId] })
        const { id, contextId, status, artifacts } = taskOf(await other.sendMessage({ message }, callOf()))
        const text = JSON.stringify({ status, artifacts })
        return [id, contextId, taskId].reduce((rest, each) => rest.replaceAll(each, ''), text).replace(variable, '')
      }
      // 0.1 has no references, and every message starts a task with a new id.
      const referred = await refer(task.id)
      expect(referred).not.toContain(planted)
      expect(referred).toBe(await refer(unknown))
    },
  )
})

/** Ids and times, which differ in every response. */
const variable = /"(?:messageId|artifactId|timestamp)":"[^"]*",?/g

describe.each(dialectBindings.filter(([, binding]) => binding === 'JSONRPC'))(
  'the remembered dialect of a %s task',
  (dialect) => {
    /** Methods that several dialects share, sent without a version: the server picks the dialect that the caller used before. */
    const methods = ['tasks/get', 'tasks/cancel', 'tasks/resubscribe', 'GetTask', 'CancelTask', 'SubscribeToTask']

    it('other callers get the same response as for an unknown task, by every method and path', async () => {
      const callers = createCallers(dialect, 'JSONRPC', true)
      const { url, headersOf } = callers
      const { task } = await beginIn(dialect, callers)
      const ids = new Set([task.id, await idOf(callers)])
      for (const path of ['/', '/api/a2a']) {
        for (const method of methods) {
          const ask = async (caller: Caller, id: string) => {
            const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { id } })
            const headers = { 'content-type': 'application/json', ...headersOf(caller) }
            const response = await fetch(`${url}${path}`, { method: 'POST', headers, body })
            const type = response.headers.get('content-type')
            return `${response.status} ${type} ${await response.text()}`.replaceAll(id, unknown)
          }
          for (const id of ids) {
            for (const caller of ['bob', 'an anonymous caller'] as const) {
              expect(await ask(caller, id)).toBe(await ask(caller, unknown))
            }
          }
          if (path === '/' && method === 'tasks/get') expect(await ask('alice', task.id)).toContain(planted)
        }
      }
    })

    /** The server's own id of the only task. */
    async function idOf({ url, headersOf }: Callers): Promise<string> {
      const client = await connect(url, { dialects: ['v1.0'], authorize: () => ({ headers: headersOf('alice') }) })
      const { tasks } = await client.service.listTasks({}, callOf())
      return tasks[0]?.id ?? expect.fail('alice has no task')
    }
  },
)
