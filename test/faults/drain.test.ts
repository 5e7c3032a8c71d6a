import { expect, it } from 'vitest'
import type { TaskLog } from '../../src/core/tasks/log.ts'
import { createMemoryLog } from '../../src/core/tasks/memory-log.ts'
import { createTestRuntime, send, taskOf } from '../support/agents/test-runtime.ts'
import { deferred } from '../support/async.ts'

/** A log that stores a new task only when the test says so. */
function createHeldLog() {
  const log = createMemoryLog()
  const reached = deferred()
  const open = deferred()
  const held: TaskLog = {
    ...log,
    async create(...task) {
      reached.resolve()
      await open.promise
      return await log.create(...task)
    },
  }
  return { held, reached: reached.promise, open: open.resolve }
}

it('draining waits for a message that is being stored when it starts', async () => {
  const { held, reached, open } = createHeldLog()
  const started = deferred()
  const finish = deferred()
  const runtime = createTestRuntime(
    async (turn) => {
      started.resolve()
      await finish.promise
      await turn.status('completed')
    },
    { log: held },
  )
  const sent = send(runtime.service, 'go')
  await reached
  let isDrained = false
  const drained = runtime.drain(60_000).then(() => {
    isDrained = true
  })
  open()
  await started.promise
  expect(isDrained).toBe(false)
  finish.resolve()
  expect(taskOf(await sent).status.state).toBe('completed')
  await drained
})

it('a message that is stored after the deadline fails at once', async () => {
  const { held, reached, open } = createHeldLog()
  const runtime = createTestRuntime((turn) => untilAborted(turn.signal), { log: held })
  const sent = send(runtime.service, 'go')
  await reached
  const drained = runtime.drain(0)
  setTimeout(open, 5) // timers fire in order: by then the deadline has passed
  expect(taskOf(await sent).status).toMatchObject({ state: 'failed' })
  await drained
})

async function untilAborted(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
