import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../../../test/support/async.ts'

it('a subscriber gets the current task and every change, without gap or repeat', async () => {
  const go = deferred()
  const { service } = createTestRuntime(async (turn) => {
    const out = turn.artifact('x')
    for (let n = 0; n < 50; n++) await out.write(`${n},`)
    await go.promise
    for (let n = 50; n < 100; n++) await out.write(`${n},`)
  })
  const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
  const readers = Array.from({ length: 5 }, () => collect(service.subscribeToTask({ taskId: id }, callOf())))
  go.resolve()
  for (const events of await Promise.all(readers)) {
    const [first, ...rest] = events
    const before = first?.type === 'task' ? first.task.artifacts.flatMap(({ parts }) => parts) : []
    const added = rest.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []))
    const text = [...before, ...added].map((part) => ('text' in part ? part.text : '')).join('')
    expect(text).toBe(Array.from({ length: 100 }, (_, n) => `${n},`).join(''))
    // A reader that begins late gets the completed task as its only event.
    const last = rest.at(-1) ?? (first?.type === 'task' ? first.task : undefined)
    expect(last).toMatchObject({ status: { state: 'completed' } })
  }
})

it('a resumed stream repeats no event, even if the task has ended', async () => {
  const { service } = createTestRuntime(async (turn) => {
    const out = turn.artifact('x')
    for (let n = 0; n < 20; n++) await out.write(`${n}`)
    await out.close('20')
  })
  const all = await collect(service.streamMessage({ message: messageOf('x') }, callOf()))
  const first = all[0]
  const taskId = first?.type === 'task' ? first.task.id : ''
  const last = first?.type === 'task' ? first.task.generation + all.length - 1 : 0
  for (let after = 2; after < last; after++) {
    const rest = await collect(service.subscribeToTask({ taskId, after }, callOf()))
    const [next, ...later] = all.slice(after - 1)
    expect(rest).toEqual([{ ...next, follows: after }, ...later])
  }
  const past = (after?: number) => service.subscribeToTask({ taskId, after }, callOf()).next()
  await expect(past(last)).rejects.toMatchObject({ code: 'task-ended' })
  await expect(past()).rejects.toMatchObject({ code: 'task-ended' })
  await expect(past(last + 1)).rejects.toMatchObject({ code: 'invalid-params' })
})

it('the stream of a waiting task stays open for a subscriber', async () => {
  const { service } = createTestRuntime(async (turn) => {
    if (!turn.task) return await turn.requireInput('?')
    return 'thanks'
  })
  const { id } = taskOf(await send(service, 'x'))
  const stream = service.subscribeToTask({ taskId: id }, callOf())
  expect((await stream.next()).value).toMatchObject({ task: { status: { state: 'input-required' } } })
  await send(service, 'here', { taskId: id })
  const states = (await collect(stream)).map((event) => (event.type === 'status' ? event.status.state : event.type))
  expect(states).toEqual(['working', 'completed'])
})

it('a thousand disconnected subscribers leave nothing behind', async () => {
  const go = deferred()
  const { service, drain } = createTestRuntime((turn) => turn.status('working').then(() => go.promise))
  const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
  await until(async () => (await service.getTask({ taskId: id }, callOf())).status.state === 'working')
  const caller = new AbortController()
  const streams = Array.from({ length: 1_000 }, () =>
    collect(service.subscribeToTask({ taskId: id }, callOf({ signal: caller.signal }))),
  )
  await new Promise((resolve) => setTimeout(resolve, 20))
  caller.abort()
  for (const events of await Promise.all(streams)) expect(events).toHaveLength(1)
  go.resolve()
  await drain(1_000)
})

it('a stream marks the events that it leaves out', async () => {
  const go = deferred()
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      await go.promise
      await turn.status('working', 'Still')
    },
    { whileBusy: 'queue' },
  )
  const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
  const events = service.subscribeToTask({ taskId: id }, callOf())
  const { value: first } = await events.next()
  const generation = first?.type === 'task' ? first.task.generation : 0
  expect(first?.follows).toBe(generation)
  await send(service, 'and this', { taskId: id, returnImmediately: true })
  go.resolve()
  const { value: next } = await events.next()
  expect(next).toMatchObject({ type: 'status', generation: generation + 2, follows: generation })
  await events.return(undefined)
})

it('includeEnded streams an ended task once', async () => {
  const { service } = createTestRuntime((turn) => turn.status('completed'))
  const { id } = taskOf(await service.sendMessage({ message: messageOf('x') }, callOf()))
  const events = await collect(service.subscribeToTask({ taskId: id, includeEnded: true }, callOf()))
  expect(events).toMatchObject([{ type: 'task', isLast: true, task: { status: { state: 'completed' } } }])
})

it('only the last event of a stream is marked as the last', async () => {
  const { service } = createTestRuntime(async function* () {
    yield 'a'
    return 'b'
  })
  const events = await collect(service.streamMessage({ message: messageOf('x') }, callOf()))
  expect(events.map(({ isLast }) => isLast)).toEqual([...events.slice(1).map(() => false), true])
})

it('a task without readers continues and stores all events', async () => {
  const go = deferred()
  const { service, log } = createTestRuntime(async (turn) => {
    const out = turn.artifact('x')
    await out.write('first')
    await go.promise
    for (let n = 0; n < 10; n++) await out.write(`${n}`)
    return 'done'
  })
  const caller = new AbortController()
  const stream = service.streamMessage({ message: messageOf('x') }, callOf({ signal: caller.signal }))
  const first = (await stream.next()).value
  const taskId = first?.type === 'task' ? first.task.id : ''
  caller.abort()
  await collect(stream)
  go.resolve()
  await until(async () => (await log.head(taskId))?.phase === 'completed')
  expect((await service.getTask({ taskId }, callOf())).artifacts[0]?.parts).toEqual([{ text: 'first0123456789' }])
})
