import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../test/support/async.ts'

function counting(options = {}) {
  const runs = { count: 0, go: deferred() }
  const house = createTestRuntime(async (turn) => {
    runs.count++
    if (turn.text === 'message') return 'answer'
    await turn.status('working')
    await runs.go.promise
    return 'done'
  }, options)
  return { ...house, runs }
}

it('runs two sends with one Idempotency-Key once, and both get the same task', async () => {
  const { service, runs } = counting()
  const call = callOf({ idempotencyKey: 'k1' })
  const request = { message: messageOf('x') }
  const first = service.sendMessage(request, call)
  const second = service.sendMessage(request, call)
  runs.go.resolve()
  const [a, b] = (await Promise.all([first, second])).map(taskOf)
  expect(a).toEqual(b)
  expect(taskOf(await service.sendMessage(request, call))).toEqual(a)
  expect(runs.count).toBe(1)
})

it('gives the same message to a send that is repeated with its key', async () => {
  const { service, runs } = counting()
  const call = callOf({ idempotencyKey: 'k1' })
  const request = { message: messageOf('message') }
  const first = await service.sendMessage(request, call)
  expect(await service.sendMessage(request, call)).toEqual(first)
  expect(first.type).toBe('message')
  expect(runs.count).toBe(1)
})

it('lets the second send tap the running stream of the first', async () => {
  const { service, runs } = counting()
  const call = callOf({ idempotencyKey: 'k1' })
  const request = { message: messageOf('x') }
  const first = service.streamMessage(request, call)
  await first.next()
  const second = service.streamMessage(request, call)
  expect((await second.next()).value?.type).toBe('task')
  runs.go.resolve()
  expect(await collect(second)).toEqual(await collect(first))
  expect(runs.count).toBe(1)
})

it('continues a repeated stream after the event that its reader has seen', async () => {
  const { service, runs } = counting()
  const call = callOf({ idempotencyKey: 'k1' })
  const request = { message: messageOf('x') }
  const first = service.streamMessage(request, call)
  const seen = (await first.next()).value
  runs.go.resolve()
  const rest = await collect(first)
  const after = seen?.type === 'task' ? seen.task.generation : -1
  const [next, ...others] = rest
  const again = await collect(service.streamMessage({ ...request, after }, call))
  expect(again).toEqual([{ ...next, follows: after }, ...others])
})

it('refuses a key that comes again with a different body', async () => {
  const { service } = counting()
  const call = callOf({ idempotencyKey: 'k1' })
  await service.sendMessage({ message: messageOf('message') }, call)
  await expect(service.sendMessage({ message: messageOf('other') }, call)).rejects.toMatchObject({ code: 'conflict' })
})

it('keeps the keys of two callers apart', async () => {
  const { service, runs } = counting()
  for (const id of ['ann', 'bob']) {
    const call = callOf({ idempotencyKey: 'k1', principal: { id } })
    await service.sendMessage({ message: messageOf('message') }, call)
  }
  expect(runs.count).toBe(2)
})

it('runs a messageId once within a task, also if the task has ended since', async () => {
  const { service, runs } = counting()
  const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
  const follow = { message: messageOf('y', { taskId: id }) }
  const both = [service.sendMessage(follow, callOf()), service.sendMessage(follow, callOf())]
  await until(async () => (await service.getTask({ taskId: id }, callOf())).history.length >= 2)
  runs.go.resolve()
  const [a, b] = (await Promise.all(both)).map(taskOf)
  expect(a).toEqual(b)
  expect(taskOf(await service.sendMessage(follow, callOf()))).toEqual(a)
  expect(a?.history.filter(({ role }) => role === 'user')).toHaveLength(2)
  expect(runs.count).toBe(2)
  const changed = { message: { ...follow.message, parts: [{ text: 'z' }] } }
  await expect(service.sendMessage(changed, callOf())).rejects.toMatchObject({ code: 'conflict' })
})

it('knows the message that began a task when it comes again with the task id', async () => {
  const { service, runs } = counting()
  runs.go.resolve()
  const message = messageOf('x')
  const task = taskOf(await service.sendMessage({ message }, callOf()))
  const again = await service.sendMessage({ message: { ...message, taskId: task.id } }, callOf())
  expect(taskOf(again)).toEqual(task)
  expect(runs.count).toBe(1)
  const changed = { ...message, parts: [{ text: 'z' }], taskId: task.id }
  await expect(service.sendMessage({ message: changed }, callOf())).rejects.toMatchObject({ code: 'conflict' })
})

it('takes equal messageIds of new messages for different messages, unless told otherwise', async () => {
  const message = messageOf('message')
  const plain = counting()
  for (let n = 0; n < 2; n++) await plain.service.sendMessage({ message }, callOf())
  expect(plain.runs.count).toBe(2)
  const strict = counting({ dedupeNewTasks: true })
  for (let n = 0; n < 2; n++) await strict.service.sendMessage({ message }, callOf())
  expect(strict.runs.count).toBe(1)
})
