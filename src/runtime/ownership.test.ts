import { expect, it } from 'vitest'
import { callOf, collect, houseOf, messageOf, send, taskOf } from '../../test/support/house.ts'
import type { Principal } from '../protocol/model.ts'
import { createMemoryLog } from '../tasks/memory-log.ts'
import { getTask } from './get-task.ts'
import type { Policy } from './options.ts'

const alice: Principal = { id: 'alice', tenant: 'acme' }
const bob: Principal = { id: 'bob', tenant: 'acme' }
const eve: Principal = { id: 'alice', tenant: 'evil' }

/** An agent that asks something first, so that there is a task to go on with. */
function asking(policy?: Policy) {
  return houseOf(async (turn) => (turn.task ? `done for ${turn.principal.id}` : await turn.requireInput('?')), {
    ...(policy && { policy }),
  })
}

it('compiles only if an operation is given the log of a caller', () => {
  // @ts-expect-error the whole log can be asked for anybody's task
  const ask = () => getTask({ taskId: 't' }, createMemoryLog())
  expect(ask).toBeTypeOf('function')
})

it('knows one principal from another by tenant and id', async () => {
  const { service } = asking()
  const { id } = taskOf(await send(service, 'x', {}, { principal: alice }))
  const get = (principal: Principal) => service.getTask({ taskId: id }, callOf({ principal }))
  expect(await get(alice)).toMatchObject({ id })
  for (const other of [bob, eve, { id: 'alice' }, { id: 'acme\u001falice-' }, { id: 'anonymous' }]) {
    await expect(get(other)).rejects.toMatchObject({ code: 'task-not-found' })
  }
})

it('lets a policy widen what a caller sees, for the operations it names', async () => {
  const { service } = asking(({ tenant }, operation) =>
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

it('keeps the idempotency keys of two callers apart, also in a task that both may write to', async () => {
  let turns = 0
  const { service } = houseOf(
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

it('tells nothing of a task that a message refers to: its caller’s, somebody else’s, another agent’s', async () => {
  const { service } = asking()
  const { id } = taskOf(await send(service, 'x', {}, { principal: alice }))
  const refer = (taskId: string, principal: Principal) =>
    service.sendMessage({ message: messageOf('see', { referenceTaskIds: [taskId] }) }, callOf({ principal }))
  for (const [taskId, principal] of [
    [id, alice],
    [id, bob],
    ['of another agent', bob],
  ] as const) {
    const task = taskOf(await refer(taskId, principal))
    expect(task.status.state).toBe('input-required')
    expect(task.history.at(-1)).toMatchObject({ referenceTaskIds: [taskId] })
    expect(JSON.stringify(task)).not.toContain('"x"')
  }
})

it('remembers no dialect, and streams nothing, of a task that is not the caller’s', async () => {
  const { service, recall } = asking()
  const message = messageOf('x')
  const sent = await service.sendMessage({ message, dialect: 'v0.3', alias: 'mine' }, callOf({ principal: alice }))
  const { id } = taskOf(sent)
  expect(await recall({ taskId: id }, alice)).toBe('v0.3')
  expect(await recall({ taskId: 'mine', isAlias: true }, alice)).toBe('v0.3')
  expect(await recall({ taskId: id }, eve)).toBeUndefined()
  expect(await recall({ taskId: 'mine', isAlias: true }, eve)).toBeUndefined()
  const following = collect(service.subscribeToTask({ taskId: id }, callOf({ principal: eve })))
  await expect(following).rejects.toMatchObject({ code: 'task-not-found' })
})

it('asks the log once for a task, whether it is there, somebody else’s, or not there at all', async () => {
  const log = createMemoryLog()
  const asked: string[] = []
  const counting = {
    ...log,
    head(...args: Parameters<typeof log.head>) {
      asked.push(args[0])
      return log.head(...args)
    },
  }
  const { service } = houseOf(async (turn) => await turn.requireInput('?'), { log: counting })
  const { id } = taskOf(await send(service, 'x', {}, { principal: alice }))
  const queriesOf = async (taskId: string, principal: Principal) => {
    asked.length = 0
    await service.getTask({ taskId }, callOf({ principal })).catch(() => {})
    return asked.length
  }
  expect([await queriesOf(id, alice), await queriesOf(id, bob), await queriesOf('none', bob)]).toEqual([1, 1, 1])
})
