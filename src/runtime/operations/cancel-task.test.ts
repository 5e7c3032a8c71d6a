import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../../test/support/async.ts'

it('a canceled task aborts its signal and ends every stream', async () => {
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

it('an agent that ignores its signal is abandoned, and its later events are not stored', async () => {
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

it('a task that waits for input can be canceled', async () => {
  const { service } = createTestRuntime((turn) => turn.requireInput('?'))
  const { id } = taskOf(await send(service, 'x'))
  expect((await service.cancelTask({ taskId: id }, callOf())).status.state).toBe('canceled')
})

it('an ended or unknown task cannot be canceled', async () => {
  const { service } = createTestRuntime((turn) => turn.status('completed'))
  const { id } = taskOf(await send(service, 'x'))
  await expect(service.cancelTask({ taskId: id }, callOf())).rejects.toMatchObject({ code: 'task-not-cancelable' })
  await expect(service.cancelTask({ taskId: 'no' }, callOf())).rejects.toMatchObject({ code: 'task-not-found' })
})

it('an agent can end a canceled task by itself', async () => {
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

it('a task that is canceled and completed at the same time ends once', async () => {
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
