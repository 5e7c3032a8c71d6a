import { describe, expect, it, onTestFinished } from 'vitest'
import { apiKey, hashApiKey } from '../../src/auth/index.ts'
import { connect } from '../../src/client/connect.ts'
import type { Binding, DialectName } from '../../src/dialects/dialect.ts'
import { v0_3HouseClient } from '../../src/dialects/v0.3-house/index.ts'
import { grpc } from '../../src/node/grpc-client/index.ts'
import type { A2AError } from '../../src/protocol/errors.ts'
import type { Operation, Service } from '../../src/protocol/service.ts'
import { createJsonRpcClient } from '../../src/transports/jsonrpc/client.ts'
import { doors } from '../support/doors.ts'
import { callOf, collect, messageOf, taskOf } from '../support/house.ts'
import { served } from '../support/served.ts'

/** What nobody but alice may ever read. */
const planted = 'planted-secret'

const keys = await Promise.all(['alice', 'bob'].map(async (id) => ({ id, hash: await hashApiKey(id) })))
const schemes = { key: apiKey({ keys }) }

type Who = 'alice' | 'bob' | 'nobody'
type Speak = (who: Who) => Promise<Service>

/** A server that knows alice and bob, and a caller of one dialect over one binding. */
async function open(dialect: DialectName, binding: Binding, anonymous: boolean): Promise<Speak> {
  const { server } = await served(
    async (turn) => {
      await turn.artifact('answer').close(`about ${turn.text}`)
      await turn.requireInput('more?')
    },
    { auth: { schemes, anonymous }, grpc: true },
  )
  return async (who) => {
    const headers: Record<string, string> = who === 'nobody' ? {} : { 'x-api-key': who }
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

describe.each(doors)('in %s over %s', (dialect, binding) => {
  async function begin(speak: Speak) {
    const alice = await speak('alice')
    const message = messageOf(planted, { contextId: 'shared' })
    const alias = dialect === 'v0.1' ? { alias: 'of-alice' } : {}
    const task = taskOf(await alice.sendMessage({ message, ...alias }, callOf({ idempotencyKey: 'k' })))
    return { alice, task }
  }

  it.each(Object.keys(operations) as Operation[])('%s gives nobody what is alice’s', async (operation) => {
    const speak = await open(dialect, binding, true)
    const { alice, task } = await begin(speak)
    for (const who of ['bob', 'nobody'] as const) {
      const service = await speak(who)
      const asked = await told(operations[operation](service, task.id), task.id)
      expect(asked).not.toContain(planted)
      if (begins(dialect, operation)) continue
      expect(asked).toBe(await told(operations[operation](await speak(who), unknown), unknown))
    }
    const after = await alice.getTask({ taskId: task.id, ...(dialect === 'v0.1' && { isAlias: true }) }, callOf())
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

  it('a key of alice’s is no key of bob’s, and a reference to her task tells him nothing', async () => {
    const speak = await open(dialect, binding, true)
    const { task } = await begin(speak)
    const bob = await speak('bob')
    const alias = dialect === 'v0.1' ? { alias: 'of-alice' } : {}
    const own = taskOf(await bob.sendMessage({ message: messageOf('mine'), ...alias }, callOf({ idempotencyKey: 'k' })))
    expect(own.id === task.id).toBe(dialect === 'v0.1')
    expect(JSON.stringify(own)).toContain('mine')
    expect(JSON.stringify(own)).not.toContain(planted)
    if (dialect === 'v0.1') return
    const refer = (taskId: string) =>
      told(bob.sendMessage({ message: messageOf('see', { referenceTaskIds: [taskId] }) }, callOf()), taskId)
    const referred = await refer(task.id)
    expect(referred).not.toContain(planted)
    expect(referred).not.toContain('task-not-found')
    expect(await refer(unknown)).not.toContain('task-not-found')
  })
})
