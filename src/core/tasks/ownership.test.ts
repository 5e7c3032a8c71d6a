import { describe, expect, it } from 'vitest'
import { callOf, messageOf, taskOf } from '../../../test/support/agents/test-runtime.ts'
import { collect } from '../../../test/support/async.ts'
import { silentLogger } from '../../../test/support/logger.ts'
import { anonymousListsAll } from '../../../test/support/servers/local-handler.ts'
import { agent } from '../agent/agent.ts'
import type { Call, Service } from '../protocol/service.ts'
import { createHandler } from '../server/handler.ts'
import { createMemoryOwnership, isolateOwners } from './ownership.ts'

/** A service that sees all callers as one, like an agent behind a client. */
function createSharedService(capacity?: number) {
  const { service } = createHandler(
    agent({ name: 'Test' }, async (turn) => {
      if (turn.text === 'hello') return 'hi'
      await turn.data({ said: turn.text })
      await turn.requireInput('More?')
      return undefined
    }),
    { auth: anonymousListsAll, logger: silentLogger },
  )
  const anonymousService = Object.fromEntries(
    Object.entries(service).map(([name, operation]) => [
      name,
      (request: never, call: object) => operation(request, { ...call, ...callOf() } as never),
    ]),
  ) as unknown as typeof service
  return isolateOwners(anonymousService, { store: createMemoryOwnership(capacity === undefined ? {} : { capacity }) })
}

const ada = callOf({ principal: { id: 'ada' } })
const bob = callOf({ principal: { id: 'bob' } })

describe('isolated callers', () => {
  it('see and reach only tasks that they started', async () => {
    const service = createSharedService()
    const { id: taskId, contextId } = taskOf(await service.sendMessage({ message: messageOf('tea') }, ada))
    expect(await service.getTask({ taskId }, ada)).toMatchObject({ id: taskId })
    const notFound = { code: 'task-not-found' }
    await expect(service.getTask({ taskId }, bob)).rejects.toMatchObject(notFound)
    await expect(service.cancelTask({ taskId }, bob)).rejects.toMatchObject(notFound)
    await expect(service.subscribeToTask({ taskId }, bob).next()).rejects.toMatchObject(notFound)
    await expect(service.createPushConfig({ taskId, url: 'https://a.example' }, bob)).rejects.toMatchObject(notFound)
    await expect(service.getPushConfig({ taskId }, bob)).rejects.toMatchObject(notFound)
    await expect(service.listPushConfigs({ taskId }, bob)).rejects.toMatchObject(notFound)
    await expect(service.deletePushConfig({ taskId }, bob)).rejects.toMatchObject(notFound)
    for (const more of [{ taskId }, { referenceTaskIds: [taskId] }]) {
      await expect(service.sendMessage({ message: messageOf('mine', more) }, bob)).rejects.toMatchObject(notFound)
      await expect(service.streamMessage({ message: messageOf('mine', more) }, bob).next()).rejects.toMatchObject(
        notFound,
      )
    }
    await expect(service.sendMessage({ message: messageOf('mine', { contextId }) }, bob)).rejects.toMatchObject({
      code: 'context-not-found',
    })
    expect(await service.listTasks({}, bob)).toMatchObject({ tasks: [], totalSize: 0 })
    expect(await service.listTasks({}, ada)).toMatchObject({ tasks: [{ id: taskId }], totalSize: 1 })
    const again = await service.sendMessage({ message: messageOf('more', { taskId, contextId }) }, ada)
    expect(taskOf(again).id).toBe(taskId)
  })

  it('also own tasks and contexts of streams and messages', async () => {
    const service = createSharedService()
    const events = await collect(service.streamMessage({ message: messageOf('tea') }, ada))
    const [first] = events
    if (first?.type !== 'task') return expect.fail('no task')
    await expect(service.getTask({ taskId: first.task.id }, bob)).rejects.toMatchObject({ code: 'task-not-found' })
    const outcome = await service.sendMessage({ message: messageOf('hello') }, ada)
    if (outcome.type !== 'message') return expect.fail('no message')
    const { contextId } = outcome.message
    const inContext = messageOf('tea', contextId === undefined ? {} : { contextId })
    expect(taskOf(await service.sendMessage({ message: inContext }, ada)).contextId).toBe(contextId)
    await expect(service.sendMessage({ message: { ...inContext, messageId: 'b' } }, bob)).rejects.toMatchObject({
      code: 'context-not-found',
    })
  })

  it('isolated callers have separate idempotency keys and get no task of another caller by repeating its message', async () => {
    const service = createSharedService()
    const keyed = (call: Call) => ({ ...call, idempotencyKey: 'k' })
    const message = messageOf('tea')
    const first = taskOf(await service.sendMessage({ message }, keyed(ada)))
    expect(taskOf(await service.sendMessage({ message }, keyed(ada))).id).toBe(first.id)
    const other = { ...message, messageId: 'another' }
    expect(taskOf(await service.sendMessage({ message: other }, keyed(bob))).id).not.toBe(first.id)
    const repeating: Service = { ...service, sendMessage: async () => ({ type: 'task', task: first }) }
    const isolated = isolateOwners(repeating)
    await isolated.sendMessage({ message }, ada)
    await expect(isolated.sendMessage({ message }, bob)).rejects.toMatchObject({ code: 'conflict' })
  })

  it('isolated callers reach no task from before a restart', async () => {
    const service = createSharedService()
    const { id: taskId, contextId } = taskOf(await service.sendMessage({ message: messageOf('tea') }, ada))
    const restarted = isolateOwners(service)
    for (const call of [ada, bob]) {
      await expect(restarted.getTask({ taskId }, call)).rejects.toMatchObject({ code: 'task-not-found' })
      await expect(
        restarted.sendMessage({ message: messageOf('more', { taskId, contextId }) }, call),
      ).rejects.toMatchObject({ code: 'task-not-found' })
      expect((await restarted.listTasks({}, call)).tasks).toEqual([])
    }
    expect(taskOf(await restarted.sendMessage({ message: messageOf('anew') }, ada)).id).not.toBe(taskId)
  })

  it('no longer see their oldest tasks beyond the capacity', async () => {
    const service = createSharedService(2)
    const first = taskOf(await service.sendMessage({ message: messageOf('tea') }, ada))
    const second = taskOf(await service.sendMessage({ message: messageOf('tea') }, ada))
    await expect(service.getTask({ taskId: first.id }, ada)).rejects.toMatchObject({ code: 'task-not-found' })
    expect((await service.listTasks({}, ada)).tasks.map(({ id }) => id)).toEqual([second.id])
  })
})
