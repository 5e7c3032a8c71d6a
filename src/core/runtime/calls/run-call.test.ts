import { expect, it, onTestFinished } from 'vitest'
import { callOf, createTestRuntime, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../../../test/support/async.ts'
import { silentLogger } from '../../../../test/support/logger.ts'
import {
  never,
  simulateProcesses,
  startTask,
  statusTextOf,
} from '../../../../test/support/processes/simulated-processes.ts'
import { type Client, connect } from '../../../entries/client.ts'
import { type Agent, agent } from '../../agent/agent.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import { createHandler } from '../../server/handler.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'

/** Starts another agent, which outlives the process that calls it. */
async function startAgent(name: string, run: AgentFunction): Promise<Client> {
  const definition: Agent = agent({ name }, run)
  const handler = createHandler(definition, {
    logger: silentLogger,
    auth: { anonymous: { listAll: true } },
    turns: { cancelGrace: 20 },
  })
  onTestFinished(() => handler.drain(0))
  return await connect(handler)
}

it('a resumed call continues the same task of the other agent', async () => {
  const { start, ended } = simulateProcesses()
  const working = deferred()
  const finish = deferred()
  let runs = 0
  const writer = await startAgent('Writer', async (turn) => {
    runs++
    await turn.status('working', 'Writing')
    working.resolve()
    await finish.promise
    await turn.artifact('text').close('A text')
  })
  const code: AgentFunction = async (turn) => {
    const { text } = await turn.call(writer, 'write')
    return `${text} in attempt ${turn.attempt}`
  }
  const first = start(code)
  const id = await startTask(first)
  await working.promise
  await until(async () => JSON.stringify(await first.service.getTask({ taskId: id }, callOf())).includes('Writing'))
  first.kill()
  start(code)
  finish.resolve()
  const task = await ended(id)
  expect(statusTextOf(task)).toBe('A text in attempt 2')
  expect(runs).toBe(1)
})

it('a call that was interrupted before its first event creates no second task', async () => {
  const { start, ended } = simulateProcesses()
  let runs = 0
  let kill = () => {}
  const writer = await startAgent('Writer', async (turn) => {
    runs++
    kill()
    await turn.status('working', 'Writing')
    return 'A text'
  })
  const code: AgentFunction = async (turn) => (await turn.call(writer, 'write')).text
  const first = start(code)
  kill = first.kill
  const id = await startTask(first)
  await until(() => runs === 1)
  start(code)
  expect(statusTextOf(await ended(id))).toBe('A text')
  expect(runs).toBe(1)
})

it('two agents get their own answers across restarts', async () => {
  const { start, ended } = simulateProcesses({ leaseTtl: 500 })
  let runs = 0
  const asking = (name: string) =>
    startAgent(name, async (turn) => {
      runs++
      const one = await turn.ask(`${name}: first?`)
      const two = await turn.ask(`${name}: second?`)
      return `${name} has ${one.text} and ${two.text}`
    })
  const agents = [await asking('Ann'), await asking('Bob')]
  const code: AgentFunction = async (turn) => {
    const answers = await Promise.all(agents.map((called) => turn.call(called, 'go')))
    return answers.map(({ text }) => text).join(', ')
  }
  let task = taskOf(await send(start(code).service, 'go'))
  for (let round = 0; round < 4; round++) {
    expect(task.status.state).toBe('input-required')
    const question = statusTextOf(task) ?? ''
    const process = start(code)
    const answer = question.replace(/\W+/g, '-').toLowerCase()
    await send(process.service, answer, { taskId: task.id, returnImmediately: round === 3 })
    if (round < 3) task = await process.service.getTask({ taskId: task.id }, callOf())
    process.kill()
  }
  start(code)
  const text = statusTextOf(await ended(task.id))
  expect(text).toBe('Ann has ann-first- and ann-second-, Bob has bob-first- and bob-second-')
  expect(runs).toBe(2)
})

it('callFirst has the same winner after a restart and cancels the losers', async () => {
  const { start, ended } = simulateProcesses()
  const won: string[] = []
  const reached = deferred()
  const canceled: string[] = []
  const fast = await startAgent('Fast', async () => 'fast')
  const slow = await startAgent('Slow', async (turn) => {
    await turn.status('working', 'Slowly')
    await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()))
    canceled.push('slow')
  })
  const code =
    (after: () => unknown): AgentFunction =>
    async (turn) => {
      const { text } = await turn.callFirst([
        [slow, 'go'],
        [fast, 'go'],
      ])
      won.push(text)
      await turn.step('then', after)
      return text
    }
  const first = start(
    code(() => {
      reached.resolve()
      return never()
    }),
  )
  const id = await startTask(first)
  await reached.promise
  await until(() => canceled.length === 1)
  first.kill()
  start(code(() => 1))
  expect(statusTextOf(await ended(id))).toBe('fast')
  expect(won).toEqual(['fast', 'fast'])
})

it('canceling a paused task cancels its calls', async () => {
  const { start, ended } = simulateProcesses()
  const states: string[] = []
  const asking = await startAgent('Asking', async (turn) => {
    turn.signal.addEventListener('abort', () => states.push('aborted'))
    return (await turn.ask('Which?')).text
  })
  const code: AgentFunction = async (turn) => (await turn.call(asking, 'go')).text
  const first = start(code)
  const task = taskOf(await send(first.service, 'go'))
  expect(task.status.state).toBe('input-required')
  first.kill()
  const second = start(code)
  const canceled = await second.service.cancelTask({ taskId: task.id }, callOf())
  expect(canceled.status.state).toBe('canceled')
  await ended(task.id)
  await until(() => states.length === 1)
})

it('a cancel that arrives while a turn pauses cancels its calls', async () => {
  const aborted = deferred()
  const asking = await startAgent('Asking', async (turn) => {
    turn.signal.addEventListener('abort', () => aborted.resolve())
    return (await turn.ask('Which?')).text
  })
  const inner = createMemoryLog()
  let isFirst = true
  const log: TaskLog = {
    ...inner,
    async release(taskId, fence, after, wakeAt) {
      if (isFirst) await inner.append(taskId, after, [{ type: 'cancel' }], {})
      isFirst = false
      return await inner.release(taskId, fence, after, wakeAt)
    },
  }
  const { service } = createTestRuntime(async (turn) => (await turn.call(asking, 'go')).text, {
    log,
    recovery: 'resume',
  })
  const task = taskOf(await send(service, 'go'))
  await aborted.promise
  await until(async () => (await inner.head(task.id))?.phase === 'canceled')
})

it('a call of a canceled task is canceled after its process died', async () => {
  const { log, start, ended } = simulateProcesses()
  const working = deferred()
  const aborted = deferred()
  const busy = await startAgent('Busy', async (turn) => {
    await turn.status('working', 'Busy')
    working.resolve()
    await new Promise<void>((resolve) => turn.signal.addEventListener('abort', () => resolve()))
    aborted.resolve()
  })
  const code: AgentFunction = async (turn) => (await turn.call(busy, 'go')).text
  const first = start(code)
  const id = await startTask(first)
  await working.promise
  await until(async () => JSON.stringify(await log.read(id, 0)).includes('Busy: send'))
  first.kill()
  const head = await log.head(id)
  await log.append(id, head?.generation ?? 0, [{ type: 'cancel' }], {})
  start(code)
  expect((await ended(id)).status.state).toBe('canceled')
  await aborted.promise
})
