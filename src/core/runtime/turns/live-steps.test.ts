import { expect, it } from 'vitest'
import { createTestRuntime, send } from '../../../../test/support/agents/test-runtime.ts'

it('a step of a turn without a journal returns its result as JSON', async () => {
  const { service } = createTestRuntime(async (turn) =>
    JSON.stringify(await turn.step('add', () => ({ sum: 3, gone: undefined }))),
  )
  const outcome = await send(service, 'go')
  expect(outcome).toMatchObject({ type: 'message', message: { parts: [{ text: '{"sum":3}' }] } })
})

it.each([
  ['turn.step(): expected a name that is not empty, got ""', '', () => 1],
  ['turn.step(pay): expected a function, got number', 'pay', 1],
])('an invalid step is rejected: %s', async (message, name, work) => {
  let problem: unknown
  const { service } = createTestRuntime(async (turn) => {
    await turn.step(name, work as () => number).catch((error) => {
      problem = error
    })
    return 'x'
  })
  await send(service, 'go')
  expect(problem).toEqual(new TypeError(message))
})
