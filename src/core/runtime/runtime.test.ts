import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, taskOf } from '../../../test/support/agents/test-runtime.ts'

it('the last dialect of a task is that of its last message, for its owner', async () => {
  const { service, lastDialect } = createTestRuntime((turn) => turn.requireInput('?'))
  const send = (dialect: string, taskId?: string) =>
    service.sendMessage({ message: messageOf('x', { taskId }), dialect }, callOf())
  const { id: taskId } = taskOf(await send('v0.3'))
  expect(await lastDialect({ taskId }, callOf().principal)).toBe('v0.3')
  await send('v0.1', taskId)
  expect(await lastDialect({ taskId }, callOf().principal)).toBe('v0.1')
  expect(await lastDialect({ taskId }, { id: 'other' })).toBeUndefined()
})
