import { expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import type { RuntimeOptions } from '../options.ts'

function startRuntime(run: AgentFunction, options: Partial<RuntimeOptions>) {
  const runtime = createTestRuntime(run, { cancelGrace: 20, ...options })
  onTestFinished(() => runtime.drain(0))
  return runtime
}

const untilAborted: AgentFunction = (turn) =>
  new Promise((resolve) => turn.signal.addEventListener('abort', () => resolve()))

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

it('an inactive turn fails with the timeout as its reason', async () => {
  const { service } = startRuntime(untilAborted, { inactivityTimeout: 50 })
  expect(taskOf(await send(service, 'go')).status).toMatchObject({
    state: 'failed',
    message: { parts: [{ text: 'The agent gave no sign of life for 50 ms.' }] },
  })
})

it('events and steps reset the inactivity timer', async () => {
  const run: AgentFunction = async (turn) => {
    for (let n = 0; n < 4; n++) {
      await turn.status('working', `${n}`)
      await pause(150)
      await turn.step('rest', () => pause(150).then(() => n))
    }
    return 'done'
  }
  const { service } = startRuntime(run, { inactivityTimeout: 1_000 })
  expect(taskOf(await send(service, 'go')).status.message?.parts).toEqual([{ text: 'done' }])
})

it('waiting for an answer suspends the inactivity timer', async () => {
  const run: AgentFunction = async (turn) => {
    await turn.ask('Sure?')
    await untilAborted(turn)
  }
  const { service } = startRuntime(run, { inactivityTimeout: 50 })
  const { id } = taskOf(await send(service, 'go'))
  await pause(120)
  expect((await service.getTask({ taskId: id }, callOf())).status.state).toBe('input-required')
  expect(taskOf(await send(service, 'yes', { taskId: id })).status.state).toBe('failed')
})

it('an active turn fails at its deadline', async () => {
  const run: AgentFunction = async (turn) => {
    while (!turn.signal.aborted) {
      await turn.status('working', 'still there')
      await pause(5)
    }
  }
  const { service } = startRuntime(run, { turnDeadline: 60, inactivityTimeout: 1_000 })
  expect(taskOf(await send(service, 'go')).status).toMatchObject({
    state: 'failed',
    message: { parts: [{ text: 'The agent did not finish within its deadline of 60 ms.' }] },
  })
})

it('the signal of a turn aborts at its deadline', async () => {
  let aborted = false
  const options = { turnDeadline: 30, cancelGrace: 30 }
  const { service } = createTestRuntime(async (turn) => {
    turn.signal.addEventListener('abort', () => {
      aborted = true
    })
    await turn.status('working')
    await new Promise(() => {})
  }, options)
  const { status } = taskOf(await send(service, 'hi'))
  expect(aborted).toBe(true)
  expect(status.state).toBe('failed')
  expect(JSON.stringify(status.message)).toContain('deadline of 30 ms')
})
