import { expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf } from '../../../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../../../test/support/async.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'
import type { PushFetch } from '../options.ts'

it('a delivery that is behind ends when its task expires', async () => {
  const inner = createMemoryLog()
  let [reads, heads] = [0, 0]
  const log: TaskLog = {
    ...inner,
    async read(taskId, after) {
      if (++reads > 1_000) throw new Error('the delivery reads forever')
      return await inner.read(taskId, after)
    },
    head(taskId, scope) {
      heads++
      return inner.head(taskId, scope)
    },
  }
  const [go, receiving, answered] = [deferred(), deferred(), deferred()]
  let requests = 0
  let isWriting = false
  const fetch: PushFetch = Object.assign(
    async () => {
      requests++
      if (isWriting) {
        receiving.resolve()
        await answered.promise
      }
      return new Response(null, { status: 204 })
    },
    { check: async () => {} },
  )
  const runtime = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      await go.promise
      const artifact = turn.artifact('text')
      for (let chunk = 0; chunk < 20; chunk++) await artifact.write('x')
      return 'done'
    },
    { log, push: { fetch } },
  )
  onTestFinished(() => runtime.drain(0))
  const push = { url: 'https://receiver.example/' }
  const configuration = { returnImmediately: true, push }
  await runtime.service.sendMessage({ message: messageOf('x'), configuration, dialect: 'v1.0' }, callOf())
  await until(() => requests > 0 && heads > 0) // everything is delivered, and the delivery waits for more
  isWriting = true
  go.resolve()
  await receiving.promise
  await until(async () => (await inner.expire(Date.now() + 60_000, 10)) === 1)
  reads = 0
  answered.resolve()
  await until(() => runtime.gauges.webhooks() === 0)
  expect(reads).toBeLessThan(10)
})
