import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../../../test/support/async.ts'
import { temporaryDirectory } from '../../../../test/support/temporary-directory.ts'
import { createSqliteLog } from '../../../stores/sqlite/sqlite-log.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import type { Turn } from '../../agent/turn.ts'
import type { Outcome } from '../../protocol/service.ts'
import type { TaskLog } from '../../tasks/log.ts'
import type { RuntimeOptions } from '../options.ts'

async function openSqliteLog(): Promise<TaskLog> {
  const log = createSqliteLog({ file: join(await temporaryDirectory(), 'tasks.db') })
  onTestFinished(() => log.close())
  return log
}

async function createSqliteRuntime(run: AgentFunction, options: Partial<RuntimeOptions>) {
  const runtime = createTestRuntime(run, { ...options, log: await openSqliteLog() })
  onTestFinished(() => runtime.drain(0))
  return runtime
}

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

describe('a cancel and an answer at the same moment, on SQLite', () => {
  const agents = {
    'requires input': (turn: Turn) => (turn.task ? 'done' : turn.requireInput('?')),
    asks: async (turn: Turn) => `done: ${(await turn.ask('?')).text}`,
  }
  const cases = Object.keys(agents).flatMap((name) =>
    (['fail', 'retry', 'resume'] as const).map((recovery) => [name as keyof typeof agents, recovery] as const),
  )

  it.each(cases)('one of them wins if the agent %s, with the policy %s', async (name, recovery) => {
    const { service, log } = await createSqliteRuntime(agents[name], { recovery })
    for (let attempt = 0; attempt < 20; attempt++) {
      const { id } = taskOf(await send(service, 'x'))
      const cancel = () => service.cancelTask({ taskId: id }, callOf()).catch((error) => error)
      const answer = () => send(service, 'yes', { taskId: id }).catch((error) => error)
      const [canceled, answered] =
        attempt % 2 ? await Promise.all([cancel(), answer()]) : (await Promise.all([answer(), cancel()])).toReversed()
      const phase = (await log.head(id))?.phase
      expect(['canceled', 'completed']).toContain(phase)
      if (phase === 'canceled') {
        expect(canceled).toMatchObject({ status: { state: 'canceled' } })
        expect([answered.task?.status.state, answered.code]).toContainEqual(
          expect.stringMatching(/^(canceled|task-ended)$/),
        )
      } else {
        expect([canceled.status?.state, canceled.code]).toContainEqual(
          expect.stringMatching(/^(completed|task-not-cancelable)$/),
        )
        expect(answered).toMatchObject({ task: { status: { state: 'completed' } } })
      }
    }
  })

  it.each(cases)(
    'an answer between the two writes of a cancel gets the canceled task: %s, %s',
    async (name, recovery) => {
      const sqlite = await openSqliteLog()
      let answering: Promise<Outcome> | undefined
      const log: TaskLog = {
        ...sqlite,
        async append(taskId, after, events, options) {
          const appended = await sqlite.append(taskId, after, events, options)
          if (events[0]?.type === 'cancel') {
            answering = send(service, 'yes', { taskId })
            await until(async () => (await sqlite.head(taskId))?.generation !== after + 1)
          }
          return appended
        },
      }
      const { service, gauges } = createTestRuntime(agents[name], { log, recovery })
      const { id } = taskOf(await send(service, 'x'))
      const isHeld = name === 'asks' && recovery !== 'resume'
      await until(() => gauges.runs() === (isHeld ? 1 : 0))
      expect((await service.cancelTask({ taskId: id }, callOf())).status.state).toBe('canceled')
      expect(taskOf((await answering) as Outcome).status.state).toBe('canceled')
    },
  )
})

it('all cancels that arrive before a task has ended get the canceled task', async () => {
  for (const recovery of ['fail', 'resume'] as const) {
    const { service } = await createSqliteRuntime((turn) => turn.requireInput('?'), { recovery })
    for (let attempt = 0; attempt < 10; attempt++) {
      const { id } = taskOf(await send(service, 'x'))
      const cancels = Array.from({ length: 5 }, () => service.cancelTask({ taskId: id }, callOf()))
      const states = (await Promise.all(cancels)).map(({ status }) => status.state)
      expect(states).toEqual(Array.from({ length: 5 }, () => 'canceled'))
      await expect(service.cancelTask({ taskId: id }, callOf())).rejects.toMatchObject({ code: 'task-not-cancelable' })
    }
  }
})
