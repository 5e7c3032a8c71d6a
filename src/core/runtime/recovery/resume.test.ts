import { expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../../../test/support/async.ts'
import {
  never,
  simulateProcesses,
  startTask,
  statusTextOf,
} from '../../../../test/support/processes/simulated-processes.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import { createAgentEvents } from '../../agent/content.ts'
import type { JournalEntry, TaskEvent } from '../../protocol/events.ts'
import { anonymous } from '../../protocol/model.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'
import type { RuntimeOptions } from '../options.ts'

const task = { taskId: 't', contextId: 'c', owner: 'anonymous' }

const agentEvents = createAgentEvents(task)

const message = (text: string): TaskEvent => ({ type: 'message', message: messageOf(text), principal: anonymous })

const journal = (entry: JournalEntry): TaskEvent => ({ type: 'journal', entry })

const attempt = (number: number, of = 1) => journal({ type: 'attempt', message: of, attempt: number })

const chunk = (text: string): TaskEvent => ({
  type: 'artifact',
  artifact: { artifactId: 'artifact-1-1', name: 'out', parts: [{ text }] },
})

/** Creates a task as a killed process leaves it. */
async function createOrphan(...events: TaskEvent[]): Promise<TaskLog> {
  const log = createMemoryLog()
  await log.create(task, [message('go'), ...events], { lease: { holder: 'dead', ttl: 0 } })
  return log
}

function startRuntime(log: TaskLog, run: AgentFunction, options: Partial<RuntimeOptions>) {
  const runtime = createTestRuntime(run, { log, cancelGrace: 20, leaseTtl: 100, ...options })
  onTestFinished(() => runtime.drain(0))
  return runtime
}

async function endOf(log: TaskLog) {
  await until(async () => ['completed', 'failed', 'canceled'].includes((await log.head('t'))?.phase ?? ''))
  const head = await log.head('t')
  return [head?.phase, head?.status?.message?.parts[0]]
}

it('an orphan fails with a reason by default', async () => {
  const log = await createOrphan(agentEvents.status('working'))
  startRuntime(log, () => 'never', {})
  expect(await endOf(log)).toEqual(['failed', { text: expect.stringContaining('stopped before it had finished') }])
})

it('a retried turn starts again with the next attempt number', async () => {
  const log = await createOrphan(attempt(1), agentEvents.status('working'))
  startRuntime(log, (turn) => turn.status('completed', `${turn.text} ${turn.attempt}`), { recovery: 'retry' })
  expect(await endOf(log)).toEqual(['completed', { text: 'go 2' }])
})

it('the artifacts of a new attempt replace those of the earlier one', async () => {
  const log = await createOrphan(attempt(1), agentEvents.status('working', 'first'), chunk('old'))
  const { service } = startRuntime(log, (turn) => turn.artifact('out').close('new'), { recovery: 'retry' })
  expect((await endOf(log))[0]).toBe('completed')
  const { artifacts, history } = await service.getTask({ taskId: 't' }, callOf())
  expect(artifacts).toEqual([{ artifactId: 'artifact-1-1', name: 'out', parts: [{ text: 'new' }] }])
  expect(history.map(({ parts }) => parts[0])).toEqual([{ text: 'go' }, { text: 'first' }])
  const stored = (await log.read('t', 0)).map(({ event }) => JSON.stringify(event))
  expect(stored.filter((event) => event.includes('"old"'))).toHaveLength(1)
})

it('a task fails when all attempts are used up', async () => {
  let runs = 0
  const run: AgentFunction = () => {
    runs++
  }
  const log = await createOrphan(attempt(1), attempt(2), agentEvents.status('working'))
  startRuntime(log, run, { recovery: { policy: 'retry', attempts: 2 } })
  expect(await endOf(log)).toEqual(['failed', { text: expect.stringContaining('stopped 2 times') }])
  expect(runs).toBe(0)
})

it('an attempt that was handed over does not count', async () => {
  const log = await createOrphan(
    attempt(1),
    journal({ type: 'handed-over' }),
    attempt(2),
    agentEvents.status('working'),
  )
  startRuntime(log, (turn) => turn.status('completed', `${turn.attempt}`), {
    recovery: { policy: 'retry', attempts: 2 },
  })
  expect(await endOf(log)).toEqual(['completed', { text: '3' }])
})

it('a new attempt gets the earlier answers of the caller', async () => {
  const log = await createOrphan(
    attempt(1),
    agentEvents.status('input-required', 'Which?'),
    message('the red one'),
    agentEvents.status('working'),
  )
  const run: AgentFunction = async (turn) => {
    const answer = await turn.ask('Which?')
    await turn.status('completed', answer.text)
  }
  startRuntime(log, run, { recovery: 'retry' })
  expect(await endOf(log)).toEqual(['completed', { text: 'the red one' }])
})

it('only the interrupted turn is retried', async () => {
  const log = await createOrphan(
    attempt(1),
    agentEvents.status('input-required', 'More?'),
    journal({ type: 'rested', answered: 1 }),
    message('second'),
    attempt(1, 5),
    agentEvents.status('working'),
    message('third'),
  )
  const turns: string[] = []
  const run: AgentFunction = (turn) => {
    turns.push(`${turn.text} ${turn.attempt} after ${turn.history.length}`)
  }
  startRuntime(log, run, { recovery: 'retry' })
  expect((await endOf(log))[0]).toBe('completed')
  expect(turns).toEqual(['second 2 after 2', 'third 1 after 3'])
})

it('a message whose turn never started is run', async () => {
  const log = await createOrphan(
    attempt(1),
    agentEvents.status('input-required'),
    journal({ type: 'rested', answered: 1 }),
    message('next'),
  )
  startRuntime(log, (turn) => turn.status('completed', `${turn.text} ${turn.attempt}`), { recovery: 'retry' })
  expect(await endOf(log)).toEqual(['completed', { text: 'next 1' }])
})

it('an orphan with a cancellation is canceled', async () => {
  const log = await createOrphan(attempt(1), agentEvents.status('working'), { type: 'cancel' })
  startRuntime(log, () => 'never', { recovery: 'retry' })
  expect((await endOf(log))[0]).toBe('canceled')
})

it('an orphan without a journal fails', async () => {
  const log = await createOrphan(agentEvents.status('working'))
  startRuntime(log, () => 'never', { recovery: 'retry' })
  expect((await endOf(log))[0]).toBe('failed')
})

it('a task that was created without a journal continues', async () => {
  const log = createMemoryLog()
  const before = startRuntime(log, (turn) => turn.requireInput('More?'), {})
  const { id } = taskOf(await send(before.service, 'go'))
  const after = startRuntime(log, (turn) => turn.status('completed', turn.text), { recovery: 'retry' })
  expect(taskOf(await send(after.service, 'more', { taskId: id })).status).toMatchObject({
    state: 'completed',
    message: { parts: [{ text: 'more' }] },
  })
})

it('a turn that is interrupted by a shutdown is handed over', async () => {
  const log = createMemoryLog()
  const started = deferred()
  const leaving = startRuntime(
    log,
    async (turn) => {
      await turn.status('working', 'at work')
      started.resolve()
      await new Promise((resolve) => turn.signal.addEventListener('abort', resolve))
    },
    { recovery: 'retry', leaseTtl: 60_000 },
  )
  const { id } = taskOf(await send(leaving.service, 'go', { returnImmediately: true }))
  await started.promise
  await leaving.drain(0)
  expect(await log.orphans(10)).toMatchObject([{ taskId: id, phase: 'working' }])
  startRuntime(log, (turn) => turn.status('completed', `attempt ${turn.attempt}`), {
    recovery: 'retry',
    leaseTtl: 60_000,
  })
  await until(async () => (await log.head(id))?.phase === 'completed')
  expect((await log.head(id))?.status?.message?.parts).toEqual([{ text: 'attempt 2' }])
})

it('a turn fails after too many attempts without progress', async () => {
  const { start, ended } = simulateProcesses({ recovery: { policy: 'resume', attempts: 2 } })
  let attempts = 0
  const reached = [deferred(), deferred()]
  const code: AgentFunction = async (turn) => {
    await turn.step('fine', () => 1)
    await turn.step('deadly', () => {
      reached[attempts++]?.resolve()
      return never()
    })
  }
  const first = start(code)
  const id = await startTask(first)
  await reached[0]?.promise
  first.kill()
  const second = start(code)
  await reached[1]?.promise
  second.kill()
  start(code)
  const task = await ended(id)
  expect(task.status.state).toBe('failed')
  expect(statusTextOf(task)).toContain('stopped 2 times')
  expect(attempts).toBe(2)
})

it('a task stays input-required although its process died before the turn was over', async () => {
  const { log, start } = simulateProcesses()
  const reached = deferred()
  const code =
    (end: () => unknown): AgentFunction =>
    async (turn) => {
      await turn.requireInput('Which?')
      await end()
    }
  const first = start(
    code(() => {
      reached.resolve()
      return never()
    }),
  )
  const id = await startTask(first)
  await reached.promise
  first.kill()
  const second = start(code(() => 1))
  await until(async () => JSON.stringify(await log.read(id, 0)).includes('"rested"'))
  expect((await second.service.getTask({ taskId: id }, callOf())).status.state).toBe('input-required')
})

it('a paused task waits again although its process died before it released the lease', async () => {
  const { log, start } = simulateProcesses()
  const code: AgentFunction = async (turn) => `${(await turn.ask('One?')).text} ${(await turn.ask('Two?')).text}`
  const release: typeof log.release = async (taskId, ...at) =>
    JSON.stringify(await log.read(taskId, 0)).includes('Two?') ? await never() : await log.release(taskId, ...at)
  const dying = { ...log, release, renew: async () => [], orphans: async () => [] }
  const first = createTestRuntime(code, { log: dying, leaseTtl: 60, recovery: 'resume', cancelGrace: 20 })
  const { id } = taskOf(await send(first.service, 'go'))
  const second = taskOf(await send(first.service, 'a', { taskId: id }))
  expect([second.status.state, statusTextOf(second)]).toEqual(['input-required', 'Two?'])
  // The lease expires, and another process takes and releases it.
  await until(async () => (await log.orphans(1)).length > 0)
  const { service } = start(code)
  await until(async () => (await log.orphans(1)).length === 0)
  expect(statusTextOf(taskOf(await send(service, 'b', { taskId: id })))).toBe('a b')
})

it.each(['retry', 'resume'] as const)(
  'an answered message is not answered again, with the policy %s',
  async (recovery) => {
    // The process ended after its turn had, and before the turn of the waiting message began.
    const texts: string[] = []
    const inner = createMemoryLog()
    let isDead = false
    const log: TaskLog = {
      ...inner,
      async append(taskId, after, events, options) {
        if (isDead) return await never()
        const appended = await inner.append(taskId, after, events, options)
        isDead = events.some((event) => event.type === 'status' && event.answered !== undefined)
        return isDead ? await never() : appended
      },
      renew: (leases, ttl) => (isDead ? never() : inner.renew(leases, ttl)),
    }
    const go = deferred()
    const run: AgentFunction = async (turn) => {
      texts.push(turn.text)
      await turn.status('working', `Begin ${turn.text}`)
      if (turn.text === 'one') await go.promise
      return `Done ${turn.text}`
    }
    const first = createTestRuntime(run, { log, recovery, leaseTtl: 100 })
    const { id } = taskOf(await send(first.service, 'one', { returnImmediately: true }))
    await send(first.service, 'two', { taskId: id, returnImmediately: true })
    go.resolve()
    await until(() => isDead)
    const second = startRuntime(inner, run, { recovery })
    await until(async () => (await second.service.getTask({ taskId: id }, callOf())).status.state === 'completed')
    expect(texts).toEqual(['one', 'two'])
  },
)
