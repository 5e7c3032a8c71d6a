import { expect, it, onTestFinished } from 'vitest'
import { createTestRuntime, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'

it('a message that is stored at the second attempt never holds two slots', async () => {
  const memory = createMemoryLog()
  let refusals = 0
  const log: TaskLog = {
    ...memory,
    // The task changes between the read and the write of the first answer.
    append: async (taskId, after, events, options) =>
      options.claims && events.some(({ type }) => type === 'message') && refusals++ === 0
        ? { type: 'behind', generation: after }
        : await memory.append(taskId, after, events, options),
  }
  let [held, most] = [0, 0]
  const runtime = createTestRuntime(async (turn) => (await turn.ask('Which?')).text, {
    log,
    async acquireSlot() {
      most = Math.max(most, ++held)
      // As in a database: the slot is free when the release has arrived.
      return async () => {
        await new Promise((resolve) => setTimeout(resolve, 20))
        held--
      }
    },
  })
  onTestFinished(() => runtime.drain(0))
  const { id: taskId } = taskOf(await send(runtime.service, 'start'))
  const before = held
  await send(runtime.service, 'blue', { taskId })
  expect(refusals).toBeGreaterThan(0)
  expect(most - before).toBe(1)
})
