import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../test/support/async.ts'
import type { Task } from '../protocol/model.ts'

const said = (task: Task) =>
  [...task.history, ...(task.status.message ? [task.status.message] : [])].map(({ role, parts: [part] }) =>
    part && 'text' in part ? `${role}: ${part.text}` : role,
  )

it('continues a task that required input, with its history in the order of time', async () => {
  const histories: number[] = []
  const { service } = createTestRuntime(async (turn) => {
    histories.push(turn.history.length)
    if (!turn.task) return await turn.requireInput('Which city?')
    await turn.status('working', `Looking up ${turn.text}`)
    return `Sunny in ${turn.text}`
  })
  const asked = taskOf(await send(service, 'weather'))
  expect(asked.status.state).toBe('input-required')
  const done = taskOf(await send(service, 'Rome', { taskId: asked.id }))
  expect(done.id).toBe(asked.id)
  expect(said(done)).toEqual([
    'user: weather',
    'agent: Which city?',
    'user: Rome',
    'agent: Looking up Rome',
    'agent: Sunny in Rome',
  ])
  expect(histories).toEqual([0, 2])
})

it('asks within a turn and goes on with the answer', async () => {
  const { service } = createTestRuntime(async (turn) => {
    const answer = await turn.ask('Sure?')
    return `You are ${answer.text}`
  })
  const asked = taskOf(await send(service, 'do it'))
  expect(asked.status.state).toBe('input-required')
  const done = taskOf(await send(service, 'sure', { taskId: asked.id }))
  expect(said(done)).toEqual(['user: do it', 'agent: Sure?', 'user: sure', 'agent: You are sure'])
})

it('runs a message that comes while a turn runs as the next turn, and loses nobody', async () => {
  const go = deferred()
  const { service } = createTestRuntime(async (turn) => {
    await turn.status('working', `Begin ${turn.text}`)
    if (turn.text === 'one') await go.promise
    await turn.artifact(turn.text).close(turn.text)
    return `Done ${turn.text}`
  })
  const first = service.streamMessage({ message: messageOf('one') }, callOf())
  const begun = (await first.next()).value
  const taskId = begun?.type === 'task' ? begun.task.id : ''
  const second = send(service, 'two', { taskId })
  await until(async () => (await service.getTask({ taskId }, callOf())).history.length === 3)
  go.resolve()
  const task = taskOf(await second)
  const events = await collect(first)
  expect(task.status.state).toBe('completed')
  expect(task.artifacts.map(({ name }) => name)).toEqual(['one', 'two'])
  expect(said(task)).toEqual([
    'user: one',
    'agent: Begin one',
    'user: two',
    'agent: Done one',
    'agent: Begin two',
    'agent: Done two',
  ])
  const generations = events.map((event) => ('generation' in event ? event.generation : 0))
  expect(generations).toEqual([...generations].sort((a, b) => a - b))
  expect(new Set(generations).size).toBe(generations.length)
  expect(events.filter((event) => event.type === 'status' && event.status.state === 'completed')).toHaveLength(1)
})

it('runs many messages that come at once, each of them once and in the order they were stored', async () => {
  const go = deferred()
  const seen: string[] = []
  const { service, log } = createTestRuntime(async (turn) => {
    await turn.status('working')
    if (turn.text === 'first') await go.promise
    seen.push(turn.text)
  })
  const stream = service.streamMessage({ message: messageOf('first') }, callOf())
  const begun = (await stream.next()).value
  const taskId = begun?.type === 'task' ? begun.task.id : ''
  const rest = Array.from({ length: 20 }, (_, n) => send(service, `${n}`, { taskId }))
  await until(async () => (await service.getTask({ taskId }, callOf())).history.length === 21)
  go.resolve()
  const tasks = (await Promise.all(rest)).map(taskOf)
  const stored = (await log.read(taskId, 0)).flatMap(({ event }) =>
    event.type === 'message' ? event.message.parts.map((part) => ('text' in part ? part.text : '')) : [],
  )
  expect(seen).toEqual(stored)
  expect(tasks.every(({ status }) => status.state === 'completed')).toBe(true)
})

it('refuses a message for a busy task when told to', async () => {
  const go = deferred()
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      await go.promise
    },
    { whileBusy: 'reject' },
  )
  const { id } = taskOf(await send(service, 'one', { returnImmediately: true }))
  await expect(send(service, 'two', { taskId: id })).rejects.toMatchObject({ code: 'conflict' })
  go.resolve()
  await until(async () => (await service.getTask({ taskId: id }, callOf())).status.state === 'completed')
})

it('interrupts a busy turn when told to, and stores nothing more of it', async () => {
  const late = deferred<unknown>()
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.status('working', `Begin ${turn.text}`)
      if (turn.text === 'two') return 'Two it is'
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      setTimeout(() => turn.status('completed', 'One after all').then(late.resolve, late.resolve), 20)
      throw new Error('stopped')
    },
    { whileBusy: 'interrupt' },
  )
  const { id } = taskOf(await send(service, 'one', { returnImmediately: true }))
  const task = taskOf(await send(service, 'two', { taskId: id }))
  expect(said(task).at(-1)).toBe('agent: Two it is')
  expect(String(await late.promise)).toContain('is over')
  expect(said(await service.getTask({ taskId: id }, callOf()))).not.toContain('agent: One after all')
})

it('refuses more messages than may wait', async () => {
  const go = deferred()
  const { service } = createTestRuntime(() => go.promise, { queueLimit: 2 })
  const { id } = taskOf(await send(service, 'one', { returnImmediately: true }))
  for (const text of ['a', 'b']) await send(service, text, { taskId: id, returnImmediately: true })
  await until(async () => (await service.getTask({ taskId: id }, callOf())).history.length === 3)
  await expect(send(service, 'c', { taskId: id })).rejects.toMatchObject({ code: 'unavailable', retryAfter: 5 })
  go.resolve()
})

it('refuses a message for an ended task, and one for the wrong context', async () => {
  const { service } = createTestRuntime(async (turn) => {
    if (turn.text === 'ask') await turn.requireInput('?')
    else await turn.status('completed')
  })
  const ended = taskOf(await send(service, 'x'))
  await expect(send(service, 'y', { taskId: ended.id })).rejects.toMatchObject({ code: 'task-ended' })
  const open = taskOf(await send(service, 'ask'))
  const elsewhere = { message: messageOf('y', { taskId: open.id, contextId: 'other' }) }
  await expect(service.sendMessage(elsewhere, callOf())).rejects.toMatchObject({ code: 'invalid-params' })
  await expect(send(service, 'y', { taskId: 'nowhere' })).rejects.toMatchObject({ code: 'task-not-found' })
})

it('shows a task to its owner only, in the same words as if there were none', async () => {
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
