import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../test/support/async.ts'

it('cancels a running task: its signal aborts and every stream ends with the canceled state', async () => {
  let reason: unknown
  const { service } = createTestRuntime(async (turn) => {
    await turn.status('working')
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
    reason = turn.signal.reason
  })
  const streams = [service.streamMessage({ message: messageOf('x') }, callOf())]
  const first = (await streams[0]?.next())?.value
  const taskId = first?.type === 'task' ? first.task.id : ''
  const subscribed = service.subscribeToTask({ taskId }, callOf())
  expect((await subscribed.next()).value).toMatchObject({ type: 'task', task: { status: { state: 'working' } } })
  streams.push(subscribed)
  const canceled = await service.cancelTask({ taskId }, callOf())
  expect(canceled.status.state).toBe('canceled')
  expect(String(reason)).toContain('canceled')
  for (const stream of streams) {
    const events = await collect(stream)
    expect(events.at(-1)).toMatchObject({ type: 'status', status: { state: 'canceled' } })
  }
})

it('leaves behind an agent that ignores its signal, and stores nothing that it emits later', async () => {
  const late = deferred<unknown>()
  const { service, log } = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      await new Promise((resolve) => setTimeout(resolve, 120))
      await turn.artifact('late').write('x').then(late.resolve, late.resolve)
    },
    { cancelGrace: 20 },
  )
  const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
  expect((await service.cancelTask({ taskId: id }, callOf())).status.state).toBe('canceled')
  expect(String(await late.promise)).toContain('is over')
  const types = (await log.read(id, 0)).map(({ event }) => event.type)
  expect(types).not.toContain('artifact')
})

it('cancels a task that waits for input', async () => {
  const { service } = createTestRuntime((turn) => turn.requireInput('?'))
  const { id } = taskOf(await send(service, 'x'))
  expect((await service.cancelTask({ taskId: id }, callOf())).status.state).toBe('canceled')
})

it('cannot cancel what has ended, nor what is not there', async () => {
  const { service } = createTestRuntime((turn) => turn.status('completed'))
  const { id } = taskOf(await send(service, 'x'))
  await expect(service.cancelTask({ taskId: id }, callOf())).rejects.toMatchObject({ code: 'task-not-cancelable' })
  await expect(service.cancelTask({ taskId: 'no' }, callOf())).rejects.toMatchObject({ code: 'task-not-found' })
})

it('takes the end that the agent reaches by itself before it stops', async () => {
  const { service } = createTestRuntime(async (turn) => {
    await turn.status('working')
    await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
    await turn.status('canceled', 'Stopped at page 3')
  })
  const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
  await until(async () => (await service.getTask({ taskId: id }, callOf())).generation > 2)
  const { status } = await service.cancelTask({ taskId: id }, callOf())
  expect(status).toMatchObject({ state: 'canceled', message: { parts: [{ text: 'Stopped at page 3' }] } })
})

it('ends once when it is canceled and completed at the same time, a hundred times over', async () => {
  for (let n = 0; n < 100; n++) {
    const go = deferred()
    const { service, log } = createTestRuntime(async (turn) => {
      await turn.status('working')
      await go.promise
      await turn.artifact('x').close('y')
    })
    const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
    const cancel = service.cancelTask({ taskId: id }, callOf()).catch((error) => error)
    if (n % 2) await Promise.resolve()
    go.resolve()
    await cancel
    await until(async () => ['canceled', 'completed'].includes((await log.head(id))?.phase ?? ''))
    const ends = (await log.read(id, 0)).filter(
      ({ event }) => event.type === 'status' && ['completed', 'canceled', 'failed'].includes(event.status.state),
    )
    expect(ends).toHaveLength(1)
  }
})

it('goes on with a task whose callers have all left, and stores all of its events', async () => {
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
  expect((await service.getTask({ taskId }, callOf())).artifacts[0]?.parts).toHaveLength(11)
})
