import { expect, it } from 'vitest'
import { callOf, createTestRuntime, send, taskOf } from '../../../test/support/agents/test-runtime.ts'
import { collect, deferred } from '../../../test/support/async.ts'

it('a draining runtime rejects new messages, finishes its turns and ends its streams', async () => {
  const go = deferred()
  const { service, drain } = createTestRuntime(async (turn) => {
    if (turn.text === 'ask') return await turn.requireInput('?')
    await turn.status('working')
    await go.promise
    return 'done'
  })
  const running = send(service, 'x')
  const paused = taskOf(await send(service, 'ask'))
  const stream = collect(service.subscribeToTask({ taskId: paused.id }, callOf()))
  await new Promise((resolve) => setTimeout(resolve, 10))
  const drained = drain(5_000)
  await expect(send(service, 'y')).rejects.toMatchObject({ code: 'unavailable', retryAfter: 1 })
  go.resolve()
  expect(taskOf(await running).status.state).toBe('completed')
  await drained
  expect(await stream).toHaveLength(1)
})

it('a turn that exceeds the deadline of the drain fails', async () => {
  const { service, drain, log } = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      await new Promise(() => {})
    },
    { cancelGrace: 20 },
  )
  const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
  await drain(20)
  expect(await log.head(id)).toMatchObject({ phase: 'failed' })
  expect(JSON.stringify((await log.head(id))?.status)).toContain('shut down')
})
