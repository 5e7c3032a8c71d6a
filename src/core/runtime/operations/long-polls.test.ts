import { expect, it } from 'vitest'
import { callOf, createTestRuntime, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { until } from '../../../../test/support/async.ts'
import { createVirtualClock } from '../../../testing/virtual-clock.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'

/** An agent that asks again and again, on a log that counts its readers and reads. */
function createAsking() {
  const clock = createVirtualClock()
  const memory = createMemoryLog({ clock })
  const counts = { waiting: 0, reads: 0 }
  const log: TaskLog = {
    ...memory,
    read(taskId, after) {
      counts.reads++
      return memory.read(taskId, after)
    },
    async wait(taskId, after, signal) {
      counts.waiting++
      await memory.wait(taskId, after, signal).finally(() => counts.waiting--)
    },
  }
  const runtime = createTestRuntime(
    async (turn) => {
      for (;;) if ((await turn.ask('next?')).text === 'end') return 'over'
    },
    { log, clock },
  )
  const { service } = runtime
  const ask = async () => taskOf(await send(service, 'start'))
  const get = (taskId: string, afterRevision?: number, signal = new AbortController().signal) =>
    service.getTask({ taskId, afterRevision }, callOf({ signal }))
  return { runtime, service, clock, counts, ask, get }
}

it('a long poll is answered by the next change of its task', async () => {
  const { service, counts, ask, get } = createAsking()
  const { id: taskId, revision = 0 } = await ask()
  expect(revision).toBe(2) // submitted, input-required
  expect(await get(taskId)).toMatchObject({ revision })
  expect(await get(taskId, revision - 1)).toMatchObject({ revision })
  const before = counts.waiting
  const polled = get(taskId, revision)
  await until(() => counts.waiting > before)
  await send(service, 'more', { taskId, returnImmediately: true })
  const changed = await polled
  expect(changed.revision).toBeGreaterThan(revision)
})

it('a long poll reads nothing while it waits, and an overdue one gets the task as it is', async () => {
  const { clock, counts, ask, get } = createAsking()
  const { id: taskId, revision } = await ask()
  const polled = get(taskId, revision)
  await clock.advance(1_000)
  const { reads } = counts
  await clock.advance(28_000)
  expect(counts.reads).toBe(reads)
  await clock.advance(1_500)
  expect(await polled).toMatchObject({ revision, status: { state: 'input-required' } })
})

it('a long poll of an ended task is answered at once, and the end of a task answers those that expect more', async () => {
  const { service, counts, ask, get } = createAsking()
  const { id: taskId, revision = 0 } = await ask()
  const before = counts.waiting
  const polled = get(taskId, revision + 100)
  await until(() => counts.waiting > before)
  await send(service, 'end', { taskId })
  // working, and an answer: its artifact, and the last status.
  expect(await polled).toMatchObject({ revision: revision + 3, status: { state: 'completed' } })
  expect(await get(taskId, revision + 100)).toMatchObject({ revision: revision + 3 })
})

it('a caller has at most 100 long polls, and further ones are answered at once', async () => {
  const { service, counts, ask, get } = createAsking()
  const { id: taskId, revision } = await ask()
  const before = counts.waiting
  const left = new AbortController()
  const polls = Array.from({ length: 100 }, () => get(taskId, revision, left.signal))
  await until(() => counts.waiting === before + 100)
  expect(await get(taskId, revision)).toMatchObject({ revision })
  // Another caller has its own.
  const bob = { principal: { id: 'bob' } }
  const asked = taskOf(await send(service, 'start', {}, bob))
  const other = service.getTask({ taskId: asked.id, afterRevision: asked.revision }, callOf(bob))
  await until(() => counts.waiting >= before + 101)
  left.abort()
  await Promise.all(polls)
  await send(service, 'end', { taskId: asked.id }, bob)
  await other
  // Callers that disconnect make room.
  const last = new AbortController()
  const waiting = counts.waiting
  const again = get(taskId, revision, last.signal)
  await until(() => counts.waiting > waiting)
  last.abort()
  await again
})

it('a server that shuts down answers its long polls', async () => {
  const { runtime, clock, counts, ask, get } = createAsking()
  const { id: taskId, revision } = await ask()
  const before = counts.waiting
  const polled = get(taskId, revision)
  await until(() => counts.waiting > before)
  await clock.run(runtime.drain(0))
  expect(await polled).toMatchObject({ id: taskId })
})
