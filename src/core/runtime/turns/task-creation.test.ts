import { expect, it } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../../../test/support/async.ts'
import { StoreUnavailable } from '../../protocol/errors.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'

/** A log that counts its writes. */
function createCountingLog() {
  const memory = createMemoryLog()
  const writes: string[] = []
  const log: TaskLog = {
    ...memory,
    create(task, events, options) {
      writes.push(`create ${events.length}`)
      return memory.create(task, events, options)
    },
    append(taskId, after, events, options) {
      writes.push(`append ${events.length}`)
      return memory.append(taskId, after, events, options)
    },
  }
  return { log, writes }
}

it('a short turn is stored together with its message, in one write', async () => {
  const { log, writes } = createCountingLog()
  const { service } = createTestRuntime(
    async (turn) => {
      await turn.status('working')
      await turn.data({ answer: 42 })
    },
    { log },
  )
  const task = taskOf(await send(service, 'go'))
  expect(task.status.state).toBe('completed')
  // The message, three statuses and the artifact.
  expect(writes).toEqual(['create 5'])
})

it('the message of a turn that takes longer is stored at once', async () => {
  const { log, writes } = createCountingLog()
  const gate = deferred()
  const { service } = createTestRuntime(
    async () => {
      await gate.promise
      return 'done'
    },
    { log },
  )
  const answer = send(service, 'go')
  await until(() => writes.length > 0)
  expect(writes).toEqual(['create 1'])
  gate.resolve()
  await answer
  expect(writes).toEqual(['create 1', 'append 1'])
})

it.each([
  { name: 'the durability each', options: { durability: 'each' as const }, call: callOf() },
  { name: 'the policy retry', options: { recovery: 'retry' as const }, call: callOf() },
  { name: 'an idempotency key', options: {}, call: { ...callOf(), idempotencyKey: 'k' } },
])('with $name, the message is stored before the agent starts', async ({ options, call }) => {
  const { log, writes } = createCountingLog()
  let writesAtStart = 0
  const { service } = createTestRuntime(
    () => {
      writesAtStart = writes.length
      return 'done'
    },
    { log, ...options },
  )
  await service.sendMessage({ message: messageOf('go') }, call)
  expect(writesAtStart).toBe(1)
})

it('the caller gets the error of a store that cannot take the message, and the turn is stopped', async () => {
  const { log, writes } = createCountingLog()
  const stopped = deferred()
  const { service } = createTestRuntime(
    async (turn) => {
      turn.signal.addEventListener('abort', () => stopped.resolve())
      await stopped.promise
      return 'too late'
    },
    { log: { ...log, create: () => Promise.reject(new StoreUnavailable(new Error('the disk is full'))) } },
  )
  await expect(send(service, 'go')).rejects.toThrow(StoreUnavailable)
  await stopped.promise
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(writes).toEqual([])
})

it('a short turn whose task cannot be stored is not answered', async () => {
  const { log, writes } = createCountingLog()
  const { service } = createTestRuntime(() => 'done', {
    log: { ...log, create: () => Promise.reject(new StoreUnavailable(new Error('the disk is full'))) },
  })
  await expect(send(service, 'go')).rejects.toThrow(StoreUnavailable)
  expect(writes).toEqual([])
})
