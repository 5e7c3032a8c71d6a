import { describe, expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../../../test/support/async.ts'
import { killableLog } from '../../../../test/support/processes/killable-log.ts'
import { never } from '../../../../test/support/processes/simulated-processes.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import type { Turn } from '../../agent/turn.ts'
import { anonymous } from '../../protocol/model.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'

const leaseTtl = 100

/** Starts a process that works on a log until it is killed. */
function startProcess(log: TaskLog, run: AgentFunction) {
  const { log: processLog, kill } = killableLog(log)
  const { service } = createTestRuntime(run, { log: processLog, leaseTtl, cancelGrace: 20 })
  onTestFinished(kill)
  return { service, kill }
}

/** A log to which the release of a lease never gets. */
function withoutRelease(log: TaskLog): TaskLog {
  return { ...log, release: never }
}

/** Creates a task as a process leaves it that was killed after the agent has asked. */
async function createPausedTask(ask: AgentFunction): Promise<{ readonly log: TaskLog; readonly taskId: string }> {
  const log = createMemoryLog()
  const killed = startProcess(withoutRelease(log), ask)
  const { id, status } = taskOf(await send(killed.service, 'book'))
  killed.kill()
  expect(status.state).toBe('input-required')
  return { log, taskId: id }
}

const phaseOf = async (log: TaskLog, taskId: string) => (await log.head(taskId))?.phase

/** Resolves when the lease of a killed process has expired, and another process was able to recover its task. */
const recovered = () => new Promise((resolve) => setTimeout(resolve, 4 * leaseTtl))

const answerOnce: AgentFunction = (turn) => turn.status('completed', `${turn.history.length} ${turn.text}`)

describe('a task whose process is killed after the question and before the release of the lease', () => {
  const agents: Record<string, AgentFunction> = {
    'turn.requireInput': (turn) => turn.requireInput('Which one?'),
    'turn.status': (turn) => turn.status('input-required'),
    'output after the question': async (turn) => {
      await turn.requireInput('Which one?')
      await turn.setMetadata({ offers: 2 })
      await turn.data({ offers: ['a', 'b'] })
      return await never()
    },
  }

  it.each(Object.entries(agents))('it waits on, and its answer starts a turn: %s', async (_, ask) => {
    const { log, taskId } = await createPausedTask(ask)
    const { service } = startProcess(log, answerOnce)
    await recovered()
    expect(await phaseOf(log, taskId)).toBe('input-required')
    expect(await log.orphans(10)).toEqual([])
    const { status } = taskOf(await send(service, 'this one', { taskId }))
    expect(status).toMatchObject({
      state: 'completed',
      message: { parts: [{ text: expect.stringContaining('this') }] },
    })
  })

  it('an answer that arrives before the lease has expired starts a turn when it has', async () => {
    const { log, taskId } = await createPausedTask((turn) => turn.requireInput('Which one?'))
    const { service } = startProcess(log, answerOnce)
    const { status, history } = taskOf(await send(service, 'this one', { taskId }))
    expect(status.state).toBe('completed')
    const texts = history.flatMap(({ parts }) => parts)
    expect(texts).toEqual([{ text: 'book' }, { text: 'Which one?' }, { text: 'this one' }])
  })

  it('all messages that arrive before the lease has expired get their turn', async () => {
    const { log, taskId } = await createPausedTask((turn) => turn.requireInput('Which one?'))
    const texts: string[] = []
    const { service } = startProcess(log, (turn) => void texts.push(turn.text))
    for (const text of ['one', 'two', 'three']) await send(service, text, { taskId, returnImmediately: true })
    await until(async () => (await phaseOf(log, taskId)) === 'completed')
    expect(texts).toEqual(['one', 'two', 'three'])
  })

  it('a cancellation that arrives before the lease has expired cancels it', async () => {
    const { log, taskId } = await createPausedTask((turn) => turn.requireInput('Which one?'))
    const { service } = startProcess(log, answerOnce)
    expect((await service.cancelTask({ taskId }, callOf())).status.state).toBe('canceled')
  })

  it('it waits on if the process that recovers it is killed too', async () => {
    const { log, taskId } = await createPausedTask((turn) => turn.requireInput('Which one?'))
    const second = startProcess(withoutRelease(log), answerOnce)
    await recovered()
    second.kill()
    const { service } = startProcess(log, answerOnce)
    await recovered()
    expect(taskOf(await send(service, 'this one', { taskId })).status.state).toBe('completed')
  })
})

describe('a turn that was interrupted', () => {
  it('the turn of an answer is not repeated if its process is killed too', async () => {
    const { log, taskId } = await createPausedTask((turn) => turn.requireInput('Which one?'))
    const begun = deferred()
    const second = startProcess(log, () => {
      begun.resolve()
      return never()
    })
    void send(second.service, 'this one', { taskId })
    await begun.promise
    second.kill()
    let turns = 0
    startProcess(log, () => void turns++)
    await until(async () => (await phaseOf(log, taskId)) === 'failed')
    expect(turns).toBe(0)
  })

  it('the turn of an answer that begins before the release of the lease is not repeated', async () => {
    const log = createMemoryLog()
    const answered = deferred()
    const begun = deferred()
    const gated: TaskLog = {
      ...log,
      async release(taskId, fence, after, wakeAt) {
        await answered.promise
        return await log.release(taskId, fence, after, wakeAt)
      },
    }
    const first = startProcess(gated, async (turn) => {
      if (!turn.task) return await turn.requireInput('Which one?')
      begun.resolve()
      return await never()
    })
    const { id: taskId } = taskOf(await send(first.service, 'book'))
    // As another process stores it, which does not know how far the first one is.
    const { generation = 0 } = (await log.head(taskId)) ?? {}
    const status = { type: 'status', status: { state: 'working' }, implied: true, withAnswer: true } as const
    const message = { type: 'message', message: messageOf('this one'), principal: anonymous } as const
    await log.append(taskId, generation, [message, status], {})
    answered.resolve()
    await begun.promise
    first.kill()
    let turns = 0
    startProcess(log, () => void turns++)
    await until(async () => (await phaseOf(log, taskId)) === 'failed')
    expect(turns).toBe(0)
  })

  const waiting: Record<string, (turn: Turn) => Promise<unknown>> = {
    'turn.ask': (turn) => turn.ask('Which one?'),
    'turn.requireAuth': (turn) => turn.requireAuth('key'),
    'turn.requireAuth with outOfBand': (turn) => turn.requireAuth('key', { outOfBand: never }),
    'turn.ask with metadata': (turn) =>
      Promise.all([turn.ask('Which one?'), turn.flush().then(() => turn.setMetadata({}))]),
  }

  it.each(Object.entries(waiting))('a task whose turn waited for the answer fails: %s', async (_, ask) => {
    const log = createMemoryLog()
    const first = startProcess(log, async (turn) => void (await ask(turn)))
    const { id } = taskOf(await send(first.service, 'book'))
    first.kill()
    startProcess(log, answerOnce)
    await until(async () => (await phaseOf(log, id)) === 'failed')
  })
})
