import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, taskOf } from '../../test/support/agents/test-runtime.ts'
import { collect, deferred } from '../../test/support/async.ts'

it('begins a task under the id that its caller chose, and goes on with it under the same', async () => {
  const { service } = createTestRuntime((turn) => (turn.task ? 'thanks' : turn.requireInput('?')))
  const begun = taskOf(await service.sendMessage({ message: messageOf('x'), alias: 'mine' }, callOf()))
  expect(begun).toMatchObject({ status: { state: 'input-required' } })
  expect(begun.id).not.toBe('mine')
  const ended = taskOf(await service.sendMessage({ message: messageOf('y'), alias: 'mine' }, callOf()))
  expect(ended).toMatchObject({ id: begun.id, status: { state: 'completed' } })
  expect(await service.getTask({ taskId: 'mine', isAlias: true }, callOf())).toEqual(ended)
  expect(await service.getTask({ taskId: begun.id, isAlias: true }, callOf())).toEqual(ended)
  await expect(service.getTask({ taskId: 'mine' }, callOf())).rejects.toMatchObject({ code: 'task-not-found' })
})

it('keeps the names of two callers apart', async () => {
  const { service } = createTestRuntime((turn) => `for ${turn.principal.id}`)
  const ids = ['ann', 'bob'].map(async (id) => {
    const call = callOf({ principal: { id } })
    return taskOf(await service.sendMessage({ message: messageOf('x'), alias: 'same' }, call)).id
  })
  const [ann, bob] = await Promise.all(ids)
  expect(ann).not.toBe(bob)
})

it('begins one task when two messages come under a new name at the same time', async () => {
  const { service } = createTestRuntime(async (turn) => {
    await turn.artifact(turn.text).close(turn.text)
  })
  const sends = ['a', 'b'].map((text) => service.sendMessage({ message: messageOf(text), alias: 'one' }, callOf()))
  const done = await Promise.allSettled(sends)
  const tasks = done.flatMap((each) => (each.status === 'fulfilled' ? [taskOf(each.value)] : []))
  expect(new Set(tasks.map(({ id }) => id)).size).toBe(1)
})

it('answers with the task as it is when the caller wants to wait no longer', async () => {
  const go = deferred()
  const { service } = createTestRuntime(async (turn) => {
    await turn.status('working', 'Still at it')
    await go.promise
  })
  const request = { message: messageOf('x'), configuration: { blockFor: 30 } }
  expect(taskOf(await service.sendMessage(request, callOf())).status.state).toBe('working')
  go.resolve()
})

it('tells an ended task once more to a subscriber who asks for it', async () => {
  const { service } = createTestRuntime((turn) => turn.status('completed'))
  const { id } = taskOf(await service.sendMessage({ message: messageOf('x') }, callOf()))
  const events = await collect(service.subscribeToTask({ taskId: id, includeEnded: true }, callOf()))
  expect(events).toMatchObject([{ type: 'task', isLast: true, task: { status: { state: 'completed' } } }])
})

it('marks the last event of a stream, and only that', async () => {
  const { service } = createTestRuntime(async function* () {
    yield 'a'
    return 'b'
  })
  const events = await collect(service.streamMessage({ message: messageOf('x') }, callOf()))
  expect(events.map(({ isLast }) => isLast)).toEqual([...events.slice(1).map(() => false), true])
})

it('remembers the dialect in which a task was last written to, for its owner', async () => {
  const { service, lastDialect } = createTestRuntime((turn) => turn.requireInput('?'))
  const send = (dialect: string, taskId?: string) =>
    service.sendMessage({ message: messageOf('x', { taskId }), dialect }, callOf())
  const { id: taskId } = taskOf(await send('v0.3'))
  expect(await lastDialect({ taskId }, callOf().principal)).toBe('v0.3')
  await send('v0.1', taskId)
  expect(await lastDialect({ taskId }, callOf().principal)).toBe('v0.1')
  expect(await lastDialect({ taskId }, { id: 'other' })).toBeUndefined()
})

it('goes on with a task that was begun without a name, by the id that it has', async () => {
  const { service } = createTestRuntime((turn) => (turn.task ? 'thanks' : turn.requireInput('?')))
  const { id } = taskOf(await service.sendMessage({ message: messageOf('x') }, callOf()))
  const ended = taskOf(await service.sendMessage({ message: messageOf('y'), alias: id }, callOf()))
  expect(ended).toMatchObject({ id, status: { state: 'completed' } })
})

it('speaks of a task by the name that its caller knows', async () => {
  const { service } = createTestRuntime((turn) => turn.status('completed'))
  const { id } = taskOf(await service.sendMessage({ message: messageOf('x'), alias: 'mine' }, callOf()))
  const again = service.sendMessage({ message: messageOf('y'), alias: 'mine' }, callOf())
  const canceled = service.cancelTask({ taskId: 'mine', isAlias: true }, callOf())
  const followed = collect(service.subscribeToTask({ taskId: 'mine', isAlias: true }, callOf()))
  for (const refused of await Promise.allSettled([again, canceled, followed])) {
    expect(refused).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining('mine') } })
    expect(JSON.stringify(refused)).not.toContain(id)
  }
})
