import { describe, expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../test/support/agents/test-runtime.ts'
import { collect, until } from '../../../test/support/async.ts'
import { ownerOf, type Principal } from '../protocol/model.ts'
import type { Call, Service } from '../protocol/service.ts'
import type { TaskLog } from '../tasks/log.ts'
import { createMemoryLog } from '../tasks/memory-log.ts'
import { CallerLog } from './caller-log.ts'
import { getTask } from './operations/read-tasks.ts'
import type { Policy } from './options.ts'

const alice: Principal = { id: 'alice', tenant: 'acme' }

const bob: Principal = { id: 'bob', tenant: 'acme' }

const eve: Principal = { id: 'alice', tenant: 'evil' }

/** An agent that asks a question first, so that there is a task to continue. */
function createAskingRuntime(policy?: Policy) {
  return createTestRuntime(
    async (turn) => (turn.task ? `done for ${turn.principal.id}` : await turn.requireInput('?')),
    {
      ...(policy && { policy }),
    },
  )
}

/** Every operation on a task. */
const operations: Readonly<Record<string, (service: Service, taskId: string, call: Call) => Promise<unknown>>> = {
  sendMessage: (service, taskId, call) => service.sendMessage({ message: messageOf('x', { taskId }) }, call),
  streamMessage: (service, taskId, call) =>
    collect(service.streamMessage({ message: messageOf('x', { taskId }) }, call)),
  getTask: (service, taskId, call) => service.getTask({ taskId }, call),
  cancelTask: (service, taskId, call) => service.cancelTask({ taskId }, call),
  subscribeToTask: (service, taskId, call) => collect(service.subscribeToTask({ taskId }, call)),
  createPushConfig: (service, taskId, call) => service.createPushConfig({ taskId, url: 'https://x.test/' }, call),
  getPushConfig: (service, taskId, call) => service.getPushConfig({ taskId, id: 'p' }, call),
  listPushConfigs: (service, taskId, call) => service.listPushConfigs({ taskId }, call),
  deletePushConfig: (service, taskId, call) => service.deletePushConfig({ taskId, id: 'p' }, call),
}

it('an operation with the whole log does not compile', () => {
  // @ts-expect-error the whole log can read the tasks of every owner
  const ask = () => getTask({ taskId: 't' }, createMemoryLog())
  expect(ask).toBeTypeOf('function')
})

it('a caller log reads only tasks that the caller has found or created', async () => {
  const { service, log } = createAskingRuntime()
  const { id } = taskOf(await send(service, 'x', {}, { principal: alice }))
  const hers = new CallerLog(log, { owner: ownerOf(alice) })
  const his = new CallerLog(log, { owner: ownerOf(bob) })
  const reads: readonly ((of: CallerLog) => unknown)[] = [
    (of) => of.read(id, 0),
    (of) => of.head(id),
    (of) => of.snapshot(id),
    (of) => of.wait(id, 0, AbortSignal.abort()),
    (of) => of.append(id, 1, [], {}),
  ]
  await his.find({ taskId: id })
  await his.list({ limit: 10 })
  for (const read of reads) {
    expect(() => read(hers)).toThrow('read before it was found or created')
    expect(() => read(his)).toThrow('read before it was found or created')
  }
  await hers.find({ taskId: id })
  expect(await hers.read(id, 0)).not.toEqual([])
})

it('principals differ by tenant and id', async () => {
  const { service } = createAskingRuntime()
  const { id } = taskOf(await send(service, 'x', {}, { principal: alice }))
  const get = (principal: Principal) => service.getTask({ taskId: id }, callOf({ principal }))
  expect(await get(alice)).toMatchObject({ id })
  for (const other of [bob, eve, { id: 'alice' }, { id: 'acme\u001falice-' }, { id: 'anonymous' }]) {
    await expect(get(other)).rejects.toMatchObject({ code: 'task-not-found' })
  }
})

it('a policy widens the scope of a caller for some operations', async () => {
  const { service } = createAskingRuntime(({ tenant }, operation) =>
    tenant === 'acme' && operation !== 'cancelTask' ? { tenants: [tenant] } : undefined,
  )
  const { id } = taskOf(await send(service, 'x', {}, { principal: alice }))
  const call = callOf({ principal: bob })
  expect(await service.getTask({ taskId: id }, call)).toMatchObject({ id })
  expect(await service.listTasks({}, call)).toMatchObject({ totalSize: 1, tasks: [{ id }] })
  await expect(service.cancelTask({ taskId: id }, call)).rejects.toMatchObject({ code: 'task-not-found' })
  await expect(service.getTask({ taskId: id }, callOf({ principal: eve }))).rejects.toMatchObject({
    code: 'task-not-found',
  })
  const answered = taskOf(await send(service, 'go on', { taskId: id }, { principal: bob }))
  expect(answered.status.message?.parts).toEqual([{ text: 'done for bob' }])
})

it('two callers of one task can use the same idempotency key', async () => {
  let turns = 0
  const { service } = createTestRuntime(
    async (turn) => {
      turns++
      await turn.requireInput('?')
    },
    { policy: () => 'everyone' },
  )
  const { id } = taskOf(await send(service, 'x', {}, { principal: alice, idempotencyKey: 'k' }))
  await send(service, 'from bob', { taskId: id }, { principal: bob, idempotencyKey: 'k' })
  await send(service, 'from alice', { taskId: id }, { principal: alice, idempotencyKey: 'k2' })
  await send(service, 'from bob', { taskId: id, messageId: 'again' }, { principal: bob, idempotencyKey: 'k2' })
  expect(turns).toBe(4)
  const repeated = { message: messageOf('once', { taskId: id }) }
  await service.sendMessage(repeated, callOf({ principal: bob, idempotencyKey: 'k3' }))
  await service.sendMessage(repeated, callOf({ principal: bob, idempotencyKey: 'k3' }))
  expect(turns).toBe(5)
})

it('the dialect and the stream of a task are hidden from other callers', async () => {
  const { service, lastDialect } = createAskingRuntime()
  const message = messageOf('x')
  const sent = await service.sendMessage(
    { message, dialect: 'v0.3', quirks: { alias: 'mine' } },
    callOf({ principal: alice }),
  )
  const { id } = taskOf(sent)
  expect(await lastDialect({ taskId: id }, alice)).toBe('v0.3')
  expect(await lastDialect({ taskId: 'mine', isAlias: true }, alice)).toBe('v0.3')
  expect(await lastDialect({ taskId: id }, eve)).toBeUndefined()
  expect(await lastDialect({ taskId: 'mine', isAlias: true }, eve)).toBeUndefined()
  const following = collect(service.subscribeToTask({ taskId: id }, callOf({ principal: eve })))
  await expect(following).rejects.toMatchObject({ code: 'task-not-found' })
})

it.each(Object.keys(operations))('%s reads the log once for a task outside of the scope', async (name) => {
  const calls: string[] = []
  const log = new Proxy(createMemoryLog(), {
    get(target, method: keyof TaskLog) {
      if (!(method in target)) return undefined
      return (...args: never[]) => {
        calls.push(method)
        return (target[method] as (...parameters: never[]) => unknown)(...args)
      }
    },
  })
  const fetch = Object.assign(async () => new Response(null, { status: 204 }), { check: async () => {} })
  const { service, drain } = createTestRuntime(async (turn) => await turn.requireInput('?'), { log, push: { fetch } })
  onTestFinished(() => drain(0))
  const { id } = taskOf(await send(service, 'x', {}, { principal: alice }))
  await until(() => calls.includes('release')) // the turn is over and reads nothing more
  const queriesOf = async (taskId: string, principal: Principal) => {
    calls.length = 0
    await operations[name]?.(service, taskId, callOf({ principal })).catch(() => {})
    return calls.filter((method) => method !== 'orphans' && method !== 'renew')
  }
  expect(await queriesOf(id, bob)).toEqual(['head'])
  expect(await queriesOf('none', bob)).toEqual(['head'])
  if (name === 'getTask') expect((await queriesOf(id, alice)).filter((method) => method === 'head')).toEqual(['head'])
})

it('a task of another owner gets the same error as an unknown task', async () => {
  const { service } = createTestRuntime((turn) => turn.requireInput('?'))
  const ann = callOf({ principal: { id: 'ann' } })
  const bob = callOf({ principal: { id: 'bob' } })
  const { id } = taskOf(await service.sendMessage({ message: messageOf('x') }, ann))
  const missing = await service.getTask({ taskId: 'none' }, bob).catch((error) => error.message)
  for (const attempt of [
    () => service.getTask({ taskId: id }, bob),
    () => service.cancelTask({ taskId: id }, bob),
    () => service.subscribeToTask({ taskId: id }, bob).next(),
    () => service.sendMessage({ message: messageOf('y', { taskId: id }) }, bob),
  ]) {
    const error = await attempt().catch((thrown) => thrown)
    expect(error.code).toBe('task-not-found')
    expect(error.message).toBe(missing.replace('none', id))
  }
  expect((await service.listTasks({}, bob)).totalSize).toBe(0)
  expect((await service.listTasks({}, ann)).totalSize).toBe(1)
})

describe('the id of a new task', () => {
  const log = new CallerLog(createMemoryLog(), { owner: 'alice' })
  const newId = () => log.newTask().taskId

  it('an id has 128 random bits after the time and never repeats', () => {
    const ids = Array.from({ length: 10_000 }, newId)
    for (const id of ids) expect(id).toMatch(/^[\da-f]{12}-[\da-f]{32}$/)
    const random = ids.map((id) => id.slice(13))
    expect(new Set(random).size).toBe(ids.length)
    // Each of the 128 bits is set in about half of them: seven standard deviations are 350.
    for (let bit = 0; bit < 128; bit++) {
      const set = random.filter((text) => (Number.parseInt(text.charAt(bit >> 2), 16) >> (bit & 3)) & 1).length
      expect(Math.abs(set - 5_000), `bit ${bit}`).toBeLessThan(350)
    }
  })

  it('ids grow with time', async () => {
    const first = newId()
    await new Promise((resolve) => setTimeout(resolve, 3))
    expect(newId().slice(0, 12) > first.slice(0, 12)).toBe(true)
  })
})
