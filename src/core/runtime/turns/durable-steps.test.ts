import { expect, it } from 'vitest'
import { callOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { collect, deferred, until } from '../../../../test/support/async.ts'
import {
  never,
  simulateProcesses,
  startTask,
  statusTextOf,
} from '../../../../test/support/processes/simulated-processes.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import { A2AError } from '../../protocol/errors.ts'

it('a stored step is not run again and returns its stored result', async () => {
  const { log, start, ended } = simulateProcesses()
  const done: string[] = []
  const reached = deferred()
  const code =
    (after: () => unknown): AgentFunction =>
    async (turn) => {
      const paid = await turn.step('pay', () => {
        done.push('pay')
        return { id: 7, note: undefined }
      })
      await turn.step('mail', () => void done.push('mail'))
      await turn.status('working', `paid ${paid.id}`)
      await turn.step('slow', after)
      return `${JSON.stringify(paid)} in attempt ${turn.attempt}`
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
  start(code(() => done.push('slow')))
  const task = await ended(id)
  expect(statusTextOf(task)).toBe('{"id":7} in attempt 2')
  expect(done).toEqual(['pay', 'mail', 'slow'])
  const matching = (await log.read(id, 0)).filter(({ event }) => JSON.stringify(event).includes('paid 7'))
  expect(matching).toHaveLength(1)
})

it('a resumed turn emits no stored event again', async () => {
  const { log, start, ended } = simulateProcesses()
  const code = (end: () => unknown): AgentFunction =>
    async function* (turn) {
      await turn.status('working', 'Reading')
      const out = turn.artifact('report.md', { description: 'of sales' })
      await out.write('# Report')
      await out.write('text')
      await turn.data({ n: 1 })
      await turn.file({ name: 'a.txt', content: 'bytes' })
      yield 'streamed'
      await turn.step('wait', end)
      await out.close('the end')
      yield ' more'
      return 'done'
    }
  const reached = deferred()
  const first = start(
    code(() => {
      reached.resolve()
      return never()
    }),
  )
  const id = await startTask(first)
  await reached.promise
  first.kill()
  start(code(() => 1))
  const task = await ended(id)
  expect(statusTextOf(task)).toBe('done')
  expect(task.artifacts.map(({ name, parts }) => [name, parts.map((part) => Object.values(part)[0])])).toEqual([
    ['report.md', ['# Reporttextthe end']],
    ['data', [{ n: 1 }]],
    ['a.txt', ['Ynl0ZXM=']],
    ['response', ['streamed more']],
  ])
  const events = (await log.read(id, 0)).map(({ event }) => event)
  expect(events.filter(({ type }) => type === 'artifact')).toHaveLength(8)
  expect(events.filter((event) => event.type === 'status' && !event.implied)).toHaveLength(2)
})

it('the events of a step are replaced when the step is repeated, and stay when it is done', async () => {
  const { start, ended } = simulateProcesses()
  const texts = [['a', 'b'], ['c', 'd', 'e'], ['never']]
  const reached = [deferred(), deferred()]
  let runs = 0
  const code: AgentFunction = async (turn) => {
    const count = await turn.step('write', async (within) => {
      const run = runs++
      const out = within.artifact('poem')
      for (const text of texts[run] ?? []) await out.write(text)
      reached[run]?.resolve()
      if (run === 0) await never()
      await out.close()
      return texts[run]?.length
    })
    await turn.data({ words: count ?? 0 })
    const { text } = await turn.ask('Good?')
    return text
  }
  const first = start(code)
  const id = await startTask(first)
  await reached[0]?.promise
  first.kill()
  const second = start(code)
  const isWaiting = async () =>
    (await second.service.getTask({ taskId: id }, callOf())).status.state === 'input-required'
  await until(isWaiting)
  void send(second.service, 'yes', { taskId: id })
  const task = await ended(id)
  expect(statusTextOf(task)).toBe('yes')
  expect(task.artifacts.map(({ name, parts }) => [name, parts.map((part) => Object.values(part)[0])])).toEqual([
    ['poem', ['cde']],
    ['data', [{ words: 3 }]],
  ])
  expect(runs).toBe(2)
})

it('a question releases the lease, and another process continues with the answer', async () => {
  const { log, start } = simulateProcesses({ leaseTtl: 60_000 })
  /** Waits until the lease of that fence is released. */
  const released = (taskId: string, fence: number) =>
    until(async () => (await log.renew([{ taskId, fence }], 60_000)).length > 0)
  let runs = 0
  const code: AgentFunction = async (turn) => {
    runs++
    const price = await turn.step('price', () => 5)
    const { text } = await turn.ask(`${price} for which colour?`)
    const size = await turn.ask('Which size?')
    return `${text} ${size.text} ${turn.attempt}`
  }
  const first = start(code)
  const waiting = taskOf(await send(first.service, 'buy'))
  expect([waiting.status.state, statusTextOf(waiting)]).toEqual(['input-required', '5 for which colour?'])
  await released(waiting.id, 1)
  first.kill()

  const second = start(code)
  const again = taskOf(await send(second.service, 'red', { taskId: waiting.id }))
  expect([again.status.state, statusTextOf(again)]).toEqual(['input-required', 'Which size?'])
  await released(waiting.id, 2)
  second.kill()
  const done = taskOf(await send(start(code).service, 'large', { taskId: waiting.id }))
  expect([done.status.state, statusTextOf(done)]).toEqual(['completed', 'red large 1'])
  expect(runs).toBe(3)
  expect(done.history.map(({ parts }) => Object.values(parts[0] ?? {})[0])).toEqual([
    'buy',
    '5 for which colour?',
    'red',
    'Which size?',
    'large',
  ])
})

it('an answer survives the process that received it', async () => {
  const { start, ended } = simulateProcesses()
  const reached = deferred()
  const code =
    (work: () => unknown): AgentFunction =>
    async (turn) => {
      const { text } = await turn.ask('Sure?')
      await turn.step('work', work)
      return text
    }
  const first = start(
    code(() => {
      reached.resolve()
      return never()
    }),
  )
  const { id } = taskOf(await send(first.service, 'go'))
  void send(first.service, 'yes', { taskId: id })
  await reached.promise
  first.kill()
  start(code(() => 1))
  expect(statusTextOf(await ended(id))).toBe('yes')
})

it('an expired question fails the task in any process', async () => {
  const { start, ended } = simulateProcesses()
  const expiresAt = new Date(Date.now() + 150)
  const code: AgentFunction = async (turn) => {
    await turn.ask('Sure?', { expiresAt })
    return 'never'
  }
  const first = start(code)
  const { id, status } = taskOf(await send(first.service, 'go'))
  expect(status.state).toBe('input-required')
  first.kill()
  start(code)
  const task = await ended(id)
  expect([task.status.state, statusTextOf(task)]).toEqual([
    'failed',
    `The question was not answered by ${expiresAt.toISOString()}, so the task ends here.`,
  ])
})

it('an answered question does not expire', async () => {
  const { start } = simulateProcesses()
  const first = start(async (turn) => {
    const { text } = await turn.ask('Sure?', { expiresAt: Date.now() + 300 })
    await turn.step('wait', () => new Promise((resolve) => setTimeout(resolve, 500, 1)))
    return text
  })
  const { id } = taskOf(await send(first.service, 'go'))
  expect(statusTextOf(taskOf(await send(first.service, 'yes', { taskId: id })))).toBe('yes')
})

it('a turn pauses after its running steps are stored', async () => {
  const { start } = simulateProcesses()
  let runs = 0
  const slow = deferred<number>()
  const code: AgentFunction = async (turn) => {
    const [answer, result] = await Promise.all([
      turn.ask('Which?'),
      turn.step('search', () => {
        runs++
        return slow.promise
      }),
    ])
    return `${answer.text} ${result}`
  }
  const first = start(code)
  const { id } = taskOf(await send(first.service, 'go'))
  const answered = send(first.service, 'this', { taskId: id })
  setTimeout(slow.resolve, 50, 3)
  expect(statusTextOf(taskOf(await answered))).toBe('this 3')
  expect(runs).toBe(1)
})

it('concurrent steps are replayed in any order', async () => {
  const { start, ended } = simulateProcesses()
  const ran: string[] = []
  const stuck = deferred()
  const code = (isFirst: boolean): AgentFunction =>
    async function run(turn) {
      const step = (name: string, milliseconds: number) =>
        turn.step(name, async () => {
          if (isFirst && name === 'b2') {
            stuck.resolve()
            return await never()
          }
          await new Promise((resolve) => setTimeout(resolve, isFirst ? milliseconds : 0))
          ran.push(name)
          return name
        })
      const [a, b] = await Promise.all([
        (async () => [await step('a1', 30), await step('a2', 30)])(),
        (async () => [await step('b1', 1), await step('b2', 1)])(),
      ])
      return [...a, ...b].join()
    }
  const first = start(code(true))
  const id = await startTask(first)
  await stuck.promise
  await until(() => ran.includes('a2'))
  await new Promise((resolve) => setTimeout(resolve, 20))
  first.kill()
  start(code(false))
  expect(statusTextOf(await ended(id))).toBe('a1,a2,b1,b2')
  expect(ran).toEqual(['b1', 'a1', 'a2', 'b2'])
})

it('a failed step fails again with the same error', async () => {
  const { start, ended } = simulateProcesses()
  let tries = 0
  const reached = deferred()
  const code =
    (end: () => unknown): AgentFunction =>
    async (turn) => {
      const problems: string[] = []
      const note = (error: Error) => void problems.push(`${error.name}: ${error.message}`)
      const failing = (error: Error) => () => {
        tries++
        throw error
      }
      await turn.step('one', failing(new RangeError('too far'))).catch(note)
      await turn.step('two', failing(new A2AError('invalid-params', 'No such place.'))).catch(note)
      await turn.step('end', end)
      return problems.join()
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
  start(code(() => 1))
  expect(statusTextOf(await ended(id))).toBe('StepFailed: too far,A2AError: No such place.')
  expect(tries).toBe(2)
})

it('a step result that is not JSON is rejected with its path', async () => {
  const { start } = simulateProcesses()
  let problem: unknown
  const { service } = start(async (turn) => {
    await turn
      .step('when', () => ({ list: [new Date(0)] }))
      .catch((error) => {
        problem = error
      })
    return 'x'
  })
  await send(service, 'go')
  expect(problem).toEqual(
    new TypeError(
      'What the step "when" returns.list[0]: expected a value that JSON can hold, got a Date. Return plain objects, lists and texts.',
    ),
  )
})

it('the journal is not part of a stream', async () => {
  const { start } = simulateProcesses()
  const { service } = start(async (turn) => {
    await turn.step('secret', () => 'hunter2')
    await turn.status('working', 'half')
    await turn.step('secret', () => 'hunter2')
    return 'done'
  })
  const stream = service.streamMessage({ message: { messageId: 'm', role: 'user', parts: [{ text: 'go' }] } }, callOf())
  const events = JSON.stringify(await collect(stream))
  expect(events).not.toContain('hunter2')
  expect(events).not.toContain('journal')
})

it('a paused turn can be canceled', async () => {
  const { start } = simulateProcesses()
  const { service } = start(async (turn) => `${(await turn.ask('Sure?')).text}`)
  const { id } = taskOf(await send(service, 'go'))
  const canceled = await service.cancelTask({ taskId: id }, callOf())
  expect(canceled.status.state).toBe('canceled')
})
