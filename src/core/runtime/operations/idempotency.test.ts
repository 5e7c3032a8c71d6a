import { describe, expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../../../test/support/async.ts'

describe('idempotent sends', () => {
  function counting(options = {}) {
    const runs = { count: 0, go: deferred() }
    const runtime = createTestRuntime(async (turn) => {
      runs.count++
      if (turn.text === 'message') return 'answer'
      await turn.status('working')
      await runs.go.promise
      return 'done'
    }, options)
    return { ...runtime, runs }
  }

  it('two sends with one idempotency key run once and return the same task', async () => {
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

  it('a repeated send returns the same message', async () => {
    const { service, runs } = counting()
    const call = callOf({ idempotencyKey: 'k1' })
    const request = { message: messageOf('message') }
    const first = await service.sendMessage(request, call)
    expect(await service.sendMessage(request, call)).toEqual(first)
    expect(first.type).toBe('message')
    expect(runs.count).toBe(1)
  })

  it('a repeated streaming send joins the running stream', async () => {
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

  it('a repeated stream continues after the last event that was read', async () => {
    const { service, runs } = counting()
    const call = callOf({ idempotencyKey: 'k1' })
    const request = { message: messageOf('x') }
    const first = service.streamMessage(request, call)
    const seen = (await first.next()).value
    runs.go.resolve()
    const rest = await collect(first)
    const after = seen?.type === 'task' ? seen.task.generation : -1
    const [next, ...later] = rest
    const again = await collect(service.streamMessage({ ...request, after }, call))
    expect(again).toEqual([{ ...next, follows: after }, ...later])
  })

  it('an idempotency key with a different body is rejected', async () => {
    const { service } = counting()
    const call = callOf({ idempotencyKey: 'k1' })
    await service.sendMessage({ message: messageOf('message') }, call)
    await expect(service.sendMessage({ message: messageOf('other') }, call)).rejects.toMatchObject({ code: 'conflict' })
  })

  it('two callers can use the same idempotency key', async () => {
    const { service, runs } = counting()
    for (const id of ['ann', 'bob']) {
      const call = callOf({ idempotencyKey: 'k1', principal: { id } })
      await service.sendMessage({ message: messageOf('message') }, call)
    }
    expect(runs.count).toBe(2)
  })

  it('a messageId runs once in a task, even if the task has ended', async () => {
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
  })

  it('a messageId with another text in one task is another message, and each of them runs once', async () => {
    const { service, runs } = counting()
    const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
    const texts = ['y', 'z', 'y', 'z', 'w']
    const follows = texts.map((text) => ({ message: { ...messageOf(text, { taskId: id }), messageId: 'same' } }))
    const sent = follows.map((follow) => service.sendMessage(follow, callOf()))
    await until(async () => (await service.getTask({ taskId: id }, callOf())).history.length >= 4)
    runs.go.resolve()
    await Promise.all(sent)
    const { history } = await service.getTask({ taskId: id }, callOf())
    const said = history.filter(({ role }) => role === 'user').map(({ parts }) => (parts[0] as { text: string }).text)
    expect(said.toSorted()).toEqual(['w', 'x', 'y', 'z'])
    expect(runs.count).toBe(4)
  })

  it('a repeated message with another configuration is the same message', async () => {
    const { service, runs } = counting()
    const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
    const message = messageOf('y', { taskId: id })
    await service.sendMessage({ message, configuration: { returnImmediately: true } }, callOf())
    runs.go.resolve()
    const { contextId, history } = taskOf(await service.sendMessage({ message }, callOf()))
    expect(history.filter(({ role }) => role === 'user')).toHaveLength(2)
    await service.sendMessage({ message: { ...message, contextId } }, callOf())
    expect(runs.count).toBe(2)
  })

  it('a messageId with another text is a conflict if the operator says so', async () => {
    const { service, runs } = counting({ reusedMessageId: 'reject' })
    runs.go.resolve()
    const first = messageOf('x')
    const { id } = taskOf(await service.sendMessage({ message: first }, callOf()))
    const other = { ...first, parts: [{ text: 'z' }], taskId: id }
    await expect(service.sendMessage({ message: other }, callOf())).rejects.toMatchObject({ code: 'conflict' })

    const { service: open, runs: openRuns } = counting({ reusedMessageId: 'reject' })
    const task = taskOf(await send(open, 'x', { returnImmediately: true }))
    const follow = messageOf('y', { taskId: task.id })
    const sent = open.sendMessage({ message: follow }, callOf())
    await until(async () => (await open.getTask({ taskId: task.id }, callOf())).history.length >= 2)
    const changed = { ...follow, parts: [{ text: 'z' }] }
    await expect(open.sendMessage({ message: changed }, callOf())).rejects.toMatchObject({ code: 'conflict' })
    openRuns.go.resolve()
    await sent
  })

  it('the first message of a task is recognized when it is repeated with the task id', async () => {
    const { service, runs } = counting()
    runs.go.resolve()
    const message = messageOf('x')
    const task = taskOf(await service.sendMessage({ message }, callOf()))
    const again = await service.sendMessage({ message: { ...message, taskId: task.id } }, callOf())
    expect(taskOf(again)).toEqual(task)
    expect(runs.count).toBe(1)
  })

  it('new messages with the same messageId are different, unless dedupeNewTasks is set', async () => {
    const message = messageOf('message')
    const plain = counting()
    for (let n = 0; n < 2; n++) await plain.service.sendMessage({ message }, callOf())
    expect(plain.runs.count).toBe(2)
    const strict = counting({ dedupeNewTasks: true })
    for (let n = 0; n < 2; n++) await strict.service.sendMessage({ message }, callOf())
    expect(strict.runs.count).toBe(1)
    await strict.service.sendMessage({ message: { ...message, metadata: { other: true } } }, callOf())
    expect(strict.runs.count).toBe(2)
  })
})
