import { expect, it } from 'vitest'
import { callOf, createTestRuntime, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../../../test/support/async.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'

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

it('turns that wait for an answer do not delay the drain', async () => {
  const go = deferred()
  const ended: string[] = []
  const { service, drain, log } = createTestRuntime(
    async (turn) => {
      if (turn.text === 'later') {
        await turn.status('working')
        await go.promise
      }
      if (turn.text === 'credentials') await turn.requireAuth({ scheme: 'github' })
      else await turn.ask('Sure?')
    },
    { cancelGrace: 20 },
  )
  const asking = taskOf(await send(service, 'now')).id
  const { id: needing, status } = taskOf(await send(service, 'credentials'))
  expect(status.state).toBe('auth-required')
  const working = taskOf(await send(service, 'later', { returnImmediately: true })).id
  const drained = drain(2 ** 30).then(() => ended.push('drain'))
  await until(async () => (await log.head(asking))?.phase === 'failed')
  await until(async () => (await log.head(needing))?.phase === 'failed')
  expect((await log.head(working))?.phase).toBe('working')
  expect(ended).toEqual([])
  go.resolve()
  await drained
  expect(JSON.stringify((await log.head(working))?.status)).toContain('shut down')
})

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

it('a run whose lease has expired does not end the run that replaces it', async () => {
  const inner = createMemoryLog()
  // The process is too slow to renew its leases.
  const log: TaskLog = { ...inner, renew: async () => [] }
  const go = deferred()
  const attempts: number[] = []
  const { service, gauges } = createTestRuntime(
    async (turn) => {
      attempts.push(turn.attempt)
      await turn.status('working')
      const isReplaced = turn.text === 'one' && turn.attempt === 1
      await (isReplaced ? new Promise((resolve) => turn.signal.addEventListener('abort', resolve)) : go.promise)
      return turn.text
    },
    { log, leaseTtl: 40, recovery: 'retry' },
  )
  const { id } = taskOf(await send(service, 'one', { returnImmediately: true }))
  await until(async () => (await inner.orphans(1)).length === 1)
  const sent = send(service, 'two', { taskId: id })
  await until(() => attempts.includes(2))
  await new Promise((resolve) => setTimeout(resolve, 20)) // the replaced run is over
  expect(gauges.runs()).toBe(1)
  go.resolve()
  expect(taskOf(await sent).status.state).toBe('completed')
  await until(() => gauges.runs() === 0)
})

it('a task that is canceled while its process shuts down is canceled', async () => {
  const inner = createMemoryLog()
  const log: TaskLog = {
    ...inner,
    async append(taskId, after, events, options) {
      const isLast = events.some((event) => event.type === 'status' && event.status.state === 'failed')
      if (isLast) await inner.append(taskId, after, [{ type: 'cancel' }], {})
      return await inner.append(taskId, after, events, options)
    },
  }
  const { service, drain } = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      await new Promise(() => {})
    },
    { log, cancelGrace: 20 },
  )
  const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
  await drain(0)
  expect(await inner.head(id)).toMatchObject({ phase: 'canceled' })
})

it('a run stops when it reads what another process has stored under a new lease', async () => {
  const inner = createMemoryLog()
  const log: TaskLog = { ...inner, renew: async () => [] }
  const stopped = deferred<unknown>()
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      turn.signal.addEventListener('abort', () => stopped.resolve(turn.signal.reason))
      await stopped.promise
    },
    { log, leaseTtl: 40, recovery: 'retry' },
  )
  const { id } = taskOf(await send(service, 'x', { returnImmediately: true }))
  let fence: number | undefined
  await until(async () => {
    fence = (await inner.acquire(id, { holder: 'other', ttl: 60_000 }))?.fence
    return fence !== undefined
  })
  const entry = { type: 'attempt', message: 1, attempt: 2 } as const
  const after = (await inner.head(id))?.generation ?? 0
  await inner.append(id, after, [{ type: 'journal', entry }], { fence: fence ?? 0 })
  expect(String(await stopped.promise)).toContain('lease-lost')
})
