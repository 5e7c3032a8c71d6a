import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../test/support/async.ts'
import { createMemoryLog } from '../tasks/memory-log.ts'

it('fails the tasks of a process that is gone, and says why', async () => {
  const log = createMemoryLog()
  const task = { taskId: 't', contextId: 'c', owner: 'anonymous' }
  const received = { type: 'message', message: messageOf('x'), principal: { id: 'anonymous' } } as const
  const lease = { holder: 'dead', ttl: 30 }
  await log.create(task, [received], { lease })
  const { service } = createTestRuntime(() => 'never', { log, leaseTtl: 40 })
  await until(async () => (await log.head('t'))?.phase === 'failed')
  const { status } = await service.getTask({ taskId: 't' }, callOf())
  expect(JSON.stringify(status.message)).toContain('stopped before it had finished')
})

it('keeps the lease of a long turn', async () => {
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

it('stores nothing more when another process has taken the lease', async () => {
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
  // What another process does after our lease has run out.
  await log.renew([{ taskId: id, fence: 1 }], -1)
  const lease = await log.acquire(id, { holder: 'other', ttl: 60_000 })
  expect(lease?.fence).toBe(2)
  await log.append(id, generation + 1, [{ type: 'cancel' }], {})
  expect(String(await stopped.promise)).toMatch(/lease|is over/)
  const types = (await log.read(id, 0)).map(({ event }) => event.type)
  expect(types).toEqual(['message', 'status', 'status', 'cancel'])
})

it('drains: takes no new work, lets turns finish, and ends streams', async () => {
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

it('fails what has not finished by the deadline of the drain', async () => {
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

it('removes what has ended long ago, and says so for a while', async () => {
  const { service, log } = createTestRuntime((turn) => turn.status('completed'))
  const { id } = taskOf(await send(service, 'x'))
  createTestRuntime(() => 'x', { log, retention: { ended: -1_000, tombstones: 60_000 } })
  await until(async () => (await log.head(id))?.phase === 'expired')
  const error = await service.getTask({ taskId: id }, callOf()).catch((thrown) => thrown)
  expect(error).toMatchObject({ code: 'task-expired', message: expect.stringContaining('is removed') })
})
