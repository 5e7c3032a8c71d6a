import { expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../test/support/async.ts'
import type { AgentFunction } from '../agent/agent.ts'
import { createMemoryLog } from '../tasks/memory-log.ts'
import type { RuntimeOptions } from './options.ts'

function house(run: AgentFunction, options: Partial<RuntimeOptions>) {
  const opened = createTestRuntime(run, { cancelGrace: 20, ...options })
  onTestFinished(() => opened.drain(0))
  return opened
}

const untilAborted: AgentFunction = (turn) =>
  new Promise((resolve) => turn.signal.addEventListener('abort', () => resolve()))
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

it('ends a turn that gives no sign of life, and says so', async () => {
  const { service } = house(untilAborted, { inactivityTimeout: 50 })
  expect(taskOf(await send(service, 'go')).status).toMatchObject({
    state: 'failed',
    message: { parts: [{ text: 'The agent gave no sign of life for 50 ms.' }] },
  })
})

it('takes every event and every step for a sign of life', async () => {
  const run: AgentFunction = async (turn) => {
    for (let n = 0; n < 4; n++) {
      await turn.status('working', `${n}`)
      await pause(60)
      await turn.step('rest', () => pause(60).then(() => n))
    }
    return 'done'
  }
  const { service } = house(run, { inactivityTimeout: 110 })
  expect(taskOf(await send(service, 'go')).status.message?.parts).toEqual([{ text: 'done' }])
})

it('does not take waiting for an answer for inactivity, but what comes after it', async () => {
  const run: AgentFunction = async (turn) => {
    await turn.ask('Sure?')
    await untilAborted(turn)
  }
  const { service } = house(run, { inactivityTimeout: 50 })
  const { id } = taskOf(await send(service, 'go'))
  await pause(120)
  expect((await service.getTask({ taskId: id }, callOf())).status.state).toBe('input-required')
  expect(taskOf(await send(service, 'yes', { taskId: id })).status.state).toBe('failed')
})

it('ends a turn at its deadline, however lively it is', async () => {
  const run: AgentFunction = async (turn) => {
    while (!turn.signal.aborted) {
      await turn.status('working', 'still there')
      await pause(5)
    }
  }
  const { service } = house(run, { turnDeadline: 60, inactivityTimeout: 1_000 })
  expect(taskOf(await send(service, 'go')).status).toMatchObject({
    state: 'failed',
    message: { parts: [{ text: 'The agent did not finish within its deadline of 60 ms.' }] },
  })
})

it('answers a blocking send with the working task before a limit, also of a turn that has said nothing', async () => {
  const go = deferred()
  const { service } = house(() => go.promise.then(() => 'done'), { blockFor: 60 })
  const { id, status } = taskOf(await send(service, 'go'))
  expect(status.state).toBe('working')
  go.resolve()
  await until(async () => (await service.getTask({ taskId: id }, callOf())).status.state === 'completed')
})

it('answers in time although the task never stops telling', async () => {
  const run: AgentFunction = async (turn) => {
    const out = turn.artifact('numbers')
    while (!turn.signal.aborted) await out.write('x')
  }
  const { service } = house(run, { blockFor: 60 })
  expect(taskOf(await send(service, 'go')).status.state).toBe('working')
})

it('waits no longer than a caller wants, nor than the server does', async () => {
  const { service } = house(untilAborted, { blockFor: 100 })
  const started = performance.now()
  await send(service, 'go', { blockFor: 60_000 })
  expect(performance.now() - started).toBeLessThan(10_000)
})

it('refuses a message when too many wait, also for a turn that is at work in another process', async () => {
  const log = createMemoryLog()
  const go = deferred()
  const here = house(() => go.promise.then(() => 'done'), { log, queueLimit: 3 })
  const there = house(() => 'never', { log, queueLimit: 3 })
  const { id } = taskOf(await send(here.service, 'go', { returnImmediately: true }))
  const sends = ['a', 'b', 'c'].map((text) => send(there.service, text, { taskId: id }))
  await until(async () => (await here.service.getTask({ taskId: id }, callOf())).history.length === 4)
  await expect(send(there.service, 'd', { taskId: id })).rejects.toMatchObject({
    code: 'unavailable',
    message: `Task ${id} has 3 messages waiting: send this one later.`,
  })
  go.resolve()
  await Promise.all(sends)
})

it('fails a task for which too many wait, if it shall, and says so; also if they came to another process', async () => {
  const log = createMemoryLog()
  const options = { log, queueLimit: 2, whenFull: 'fail' } as const
  const here = house(untilAborted, options)
  const there = house(() => 'never', options)
  const { id } = taskOf(await send(here.service, 'go', { returnImmediately: true }))
  const sends = [here, there, there].map(({ service }) => send(service, 'more', { taskId: id }))
  for (const sent of await Promise.all(sends)) {
    expect(taskOf(sent).status).toMatchObject({
      state: 'failed',
      message: { parts: [{ text: 'More than 2 messages waited for this task.' }] },
    })
  }
  await expect(send(there.service, 'late', { taskId: id })).rejects.toMatchObject({ code: 'task-ended' })
})
