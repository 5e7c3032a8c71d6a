import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect } from '../../../../test/support/async.ts'
import { usageKey } from '../../protocol/extensions/usage.ts'

it('the last status and the task have the sum of what a turn used', async () => {
  const { service } = createTestRuntime(async (turn) => {
    await turn.status('working')
    await turn.usage({ model: 'a', inputTokens: 10, outputTokens: 2, cost: 5 })
    await turn.step('model', (output) => output.usage({ model: 'b', inputTokens: 1, outputTokens: 1 }))
    return 'done'
  })
  const sum = { inputTokens: 11, outputTokens: 3, cost: 5, models: ['a', 'b'] }
  const events = await collect(service.streamMessage({ message: messageOf('go') }, callOf()))
  expect(events.at(-1)).toMatchObject({ status: { state: 'completed' }, metadata: { [usageKey]: sum } })
  const [task] = (await service.listTasks({}, callOf())).tasks
  expect(task?.metadata).toEqual({ [usageKey]: sum })
})

it('the usage of an agent that answers with a message is in its metadata', async () => {
  const { service } = createTestRuntime(async (turn) => {
    await turn.usage({ inputTokens: 3 })
    return 'hi'
  })
  const sum = { inputTokens: 3, outputTokens: 0 }
  expect(await send(service, 'go')).toMatchObject({ message: { metadata: { [usageKey]: sum } } })
})

it('a resumed turn sums the usage of its stored steps and counts none of it twice', async () => {
  const charged: number[] = []
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.step('model', (output) => output.usage({ inputTokens: 10 }))
      await turn.usage({ inputTokens: 5 })
      await turn.ask('Go on?')
      await turn.step('model', (output) => output.usage({ inputTokens: 100 }))
    },
    {
      recovery: 'resume',
      async chargeUsage({ inputTokens = 0 }) {
        charged.push(inputTokens)
        return undefined
      },
    },
  )
  const { id: taskId } = taskOf(await send(service, 'go'))
  const task = taskOf(await send(service, 'yes', { taskId }))
  expect(task.metadata).toEqual({ [usageKey]: { inputTokens: 115, outputTokens: 0 } })
  expect(charged).toEqual([10, 5, 100])
})

it('a turn that exceeds the limit of its caller is stopped', async () => {
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      await turn.usage({ inputTokens: 10 })
      expect(turn.signal.aborted).toBe(true)
      await new Promise((_, reject) => reject(turn.signal.reason))
    },
    { chargeUsage: async () => 'This principal has used up its limit of 9 tokens.' },
  )
  const { status } = taskOf(await send(service, 'go'))
  expect(status).toMatchObject({
    state: 'failed',
    message: { parts: [{ text: 'This principal has used up its limit of 9 tokens.' }] },
  })
})

it('usage that is no count is an error that names the member', async () => {
  const errors: string[] = []
  const { service } = createTestRuntime(async (turn) => {
    for (const usage of [{ inputTokens: -1 }, { cost: Number.NaN }, { tokens: 1 }, { model: 1 }]) {
      await turn.usage(usage as object).catch((error: Error) => errors.push(error.message))
    }
  })
  await send(service, 'go')
  expect(errors).toEqual([
    'turn.usage(): expected inputTokens to be a number from 0 on, got -1',
    'turn.usage(): expected cost to be a number from 0 on, got null',
    'turn.usage(): there is no tokens; expected model, inputTokens, outputTokens, cost',
    'turn.usage(): expected model to be a name, got number',
  ])
})
