import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { collect, deferred } from '../../test/support/async.ts'

it('gives a subscriber the task as of now and then what comes, without gap or repeat', async () => {
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
    const begun = first?.type === 'task' ? first.task.artifacts.flatMap(({ parts }) => parts) : []
    const added = rest.flatMap((event) => (event.type === 'artifact' ? event.artifact.parts : []))
    const text = [...begun, ...added].map((part) => ('text' in part ? part.text : '')).join('')
    expect(text).toBe(Array.from({ length: 100 }, (_, n) => `${n},`).join(''))
    expect(rest.at(-1)).toMatchObject({ status: { state: 'completed' } })
  }
})

it('continues exactly after any generation, also when the task has ended since', async () => {
  const { service } = createTestRuntime(async (turn) => {
    const out = turn.artifact('x')
    for (let n = 0; n < 20; n++) await out.write(`${n}`)
  })
  const all = await collect(service.streamMessage({ message: messageOf('x') }, callOf()))
  const first = all[0]
  const taskId = first?.type === 'task' ? first.task.id : ''
  const last = first?.type === 'task' ? first.task.generation + all.length - 1 : 0
  for (let after = 2; after < last; after++) {
    const rest = await collect(service.subscribeToTask({ taskId, after }, callOf()))
    const [next, ...others] = all.slice(after - 1)
    expect(rest).toEqual([{ ...next, follows: after }, ...others])
  }
  const past = (after?: number) => service.subscribeToTask({ taskId, after }, callOf()).next()
  await expect(past(last)).rejects.toMatchObject({ code: 'task-ended' })
  await expect(past()).rejects.toMatchObject({ code: 'task-ended' })
  await expect(past(last + 1)).rejects.toMatchObject({ code: 'invalid-params' })
})

it('stays open for a subscriber of a task that waits for input, and tells what comes of the answer', async () => {
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

it('limits the history to what the caller asks for', async () => {
  const { service } = createTestRuntime(async (turn) => {
    await turn.status('working', 'a')
    await turn.status('working', 'b')
    return 'c'
  })
  const lengthOf = async (historyLength?: number) => taskOf(await send(service, 'x', { historyLength })).history.length
  expect([await lengthOf(), await lengthOf(0), await lengthOf(1), await lengthOf(9)]).toEqual([3, 0, 1, 3])
  const task = taskOf(await send(service, 'x'))
  expect((await service.getTask({ taskId: task.id, historyLength: 2 }, callOf())).history).toEqual(
    task.history.slice(-2),
  )
})

it('lists tasks by state and context, page by page, newest first', async () => {
  const { service } = createTestRuntime((turn) =>
    turn.text === 'ask' ? turn.requireInput('?') : turn.status('completed'),
  )
  for (let n = 0; n < 7; n++) {
    const message = messageOf(n % 2 ? 'ask' : 'do', { contextId: n < 4 ? 'one' : 'two' })
    await service.sendMessage({ message }, callOf())
  }
  const seen: string[] = []
  let pageToken: string | undefined
  do {
    const page = await service.listTasks({ pageSize: 3, pageToken }, callOf())
    expect(page).toMatchObject({ totalSize: 7, pageSize: 3 })
    seen.push(...page.tasks.map(({ id }) => id))
    pageToken = page.nextPageToken
  } while (pageToken)
  expect(new Set(seen).size).toBe(7)
  expect((await service.listTasks({ contextId: 'one' }, callOf())).totalSize).toBe(4)
  expect((await service.listTasks({ state: 'input-required' }, callOf())).totalSize).toBe(3)
  const { nextPageToken } = await service.listTasks({ pageSize: 1 }, callOf())
  const foreign = service.listTasks({ pageSize: 1, pageToken: nextPageToken, contextId: 'one' }, callOf())
  await expect(foreign).rejects.toMatchObject({ code: 'invalid-params' })
  await expect(service.listTasks({ pageToken: 'junk' }, callOf())).rejects.toMatchObject({ code: 'invalid-params' })
})

it('lists artifacts and history only when asked to', async () => {
  const { service } = createTestRuntime((turn) => turn.artifact('x').close('y'))
  await send(service, 'x')
  const brief = await service.listTasks({}, callOf())
  expect(brief.tasks[0]).toMatchObject({ artifacts: [], history: [], status: { state: 'completed' } })
  const full = await service.listTasks({ includeArtifacts: true, historyLength: 5 }, callOf())
  expect(full.tasks[0]?.artifacts).toHaveLength(1)
  expect(full.tasks[0]?.history).toHaveLength(1)
})

it('leaves nothing behind of a thousand subscribers that went away', async () => {
  const go = deferred()
  const { service, drain } = createTestRuntime(() => go.promise)
  const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
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

it('says which events a stream leaves out, so that a reader knows whether one is missing', async () => {
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
  const known = first?.type === 'task' ? first.task.generation : 0
  expect(first?.follows).toBe(known)
  await send(service, 'and this', { taskId: id, returnImmediately: true })
  go.resolve()
  const { value: next } = await events.next()
  expect(next).toMatchObject({ type: 'status', generation: known + 2, follows: known })
  await events.return(undefined)
})
