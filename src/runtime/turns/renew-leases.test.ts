import { expect, it } from 'vitest'
import { createTestRuntime, send, taskOf } from '../../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../../test/support/async.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'

it('the lease of a long turn is renewed', async () => {
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      await new Promise((resolve) => setTimeout(resolve, 200))
      return 'done'
    },
    { leaseTtl: 30 },
  )
  expect(taskOf(await send(service, 'x')).status.state).toBe('completed')
})

it('a run whose lease another process has taken stores nothing more', async () => {
  const log = createMemoryLog()
  const stopped = deferred<unknown>()
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
      await turn.status('completed', 'too late').then(stopped.resolve, stopped.resolve)
    },
    { log, leaseTtl: 60_000 },
  )
  const { id, generation } = taskOf(await send(service, 'x', { returnImmediately: true }))
  await until(async () => (await log.head(id))?.generation === generation + 1)
  // Another process takes the task after the lease has expired.
  await log.renew([{ taskId: id, fence: 1 }], -1)
  const lease = await log.acquire(id, { holder: 'other', ttl: 60_000 })
  expect(lease?.fence).toBe(2)
  await log.append(id, generation + 1, [{ type: 'cancel' }], {})
  expect(String(await stopped.promise)).toMatch(/lease|is over/)
  const types = (await log.read(id, 0)).map(({ event }) => event.type)
  expect(types).toEqual(['message', 'status', 'status', 'cancel'])
})
