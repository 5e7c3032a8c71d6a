import { describe, expect, it, onTestFinished } from 'vitest'
import {
  answerQuestion,
  readTask,
  requestIdOf,
  toolResultOf,
  waitForQuestion,
} from '../../../../test/support/agents/questions.ts'
import { callOf, createTestRuntime, messageOf, send, taskOf } from '../../../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../../../test/support/async.ts'
import { simulateProcesses, startTask, statusTextOf } from '../../../../test/support/processes/simulated-processes.ts'
import type { AgentFunction } from '../../agent/agent-function.ts'
import { inputRequestIn } from '../../protocol/extensions/client-tools.ts'
import type { Task } from '../../protocol/model.ts'
import type { TaskLog } from '../../tasks/log.ts'
import { createMemoryLog } from '../../tasks/memory-log.ts'

const both: AgentFunction = async (turn) => {
  const answers = await Promise.all([turn.ask('A?'), turn.ask('B?')])
  return answers.map(({ text }) => text).join()
}

describe.each(['fail', 'resume'] as const)('questions with the recovery policy %s', (recovery) => {
  function startRuntime(run: AgentFunction) {
    const runtime = createTestRuntime(run, { recovery, leaseTtl: 200, cancelGrace: 20 })
    onTestFinished(() => runtime.drain(0))
    return runtime.service
  }

  it('a question has an id and takes one answer', async () => {
    const done = deferred()
    const service = startRuntime(async (turn) => {
      const { text } = await turn.ask('Sure?')
      await turn.step('wait', () => done.promise)
      return text
    })
    const task = await waitForQuestion(service, await startTask({ service }))
    const request = inputRequestIn(task.status.message)
    expect(request).toEqual({ requestId: expect.stringMatching(/./), prompt: 'Sure?', sensitive: false })
    const wrong = messageOf('', { taskId: task.id, parts: [toolResultOf('other', 'no')] })
    await expect(service.sendMessage({ message: wrong }, callOf())).rejects.toMatchObject({ code: 'invalid-params' })
    await answerQuestion(service, task)
    await expect(answerQuestion(service, task)).rejects.toMatchObject({
      code: 'invalid-params',
      message: expect.stringContaining('answered already'),
    })
    done.resolve()
    await until(async () => (await readTask(service, task.id)).status.state === 'completed')
    expect(statusTextOf(await readTask(service, task.id))).toBe('sure')
  })

  it('a working status does not replace an open question', async () => {
    const asking = deferred()
    const service = startRuntime(async (turn) => {
      const working = asking.promise.then(() => turn.status('working', 'Meanwhile'))
      const { text } = await turn.ask('Sure?')
      await working
      return text
    })
    const task = await waitForQuestion(service, await startTask({ service }))
    asking.resolve()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect((await readTask(service, task.id)).status).toEqual(task.status)
    await answerQuestion(service, task)
    await until(async () => (await readTask(service, task.id)).status.state === 'completed')
    expect(JSON.stringify((await readTask(service, task.id)).history)).toContain('Meanwhile')
  })

  it('concurrent questions are asked one after the other', async () => {
    const service = startRuntime(both)
    const first = await waitForQuestion(service, await startTask({ service }))
    await answerQuestion(service, first)
    const second = await waitForQuestion(service, first.id, requestIdOf(first))
    expect([statusTextOf(first), statusTextOf(second)]).toEqual(['A?', 'B?'])
    await expect(answerQuestion(service, first)).rejects.toMatchObject({ code: 'invalid-params' })
    await answerQuestion(service, second)
    await until(async () => (await readTask(service, first.id)).status.state === 'completed')
    expect(statusTextOf(await readTask(service, first.id))).toBe('a,b')
  })
})

it('concurrent questions get their answers across restarts', async () => {
  const { start, ended } = simulateProcesses()
  const one = start(both)
  const first = await waitForQuestion(one.service, await startTask(one))
  one.kill()
  const two = start(both)
  await answerQuestion(two.service, first)
  const second = await waitForQuestion(two.service, first.id, requestIdOf(first))
  two.kill()
  const three = start(both)
  await answerQuestion(three.service, second)
  expect(statusTextOf(await ended(first.id))).toBe('a,b')
})

it('a later question waits for the open one, even if the order differs after a restart', async () => {
  const { start, ended } = simulateProcesses()
  const code =
    (slow: 'a' | 'b'): AgentFunction =>
    async (turn) => {
      const asking = async (name: 'a' | 'b', text: string) => {
        await turn.step(name, () => 1)
        if (name === slow) await new Promise((resolve) => setTimeout(resolve, 40))
        return (await turn.ask(text)).text
      }
      return (await Promise.all([asking('a', 'A?'), asking('b', 'B?')])).join()
    }
  const one = start(code('b'))
  const first = await waitForQuestion(one.service, await startTask(one))
  expect(statusTextOf(first)).toBe('A?')
  one.kill()
  const two = start(code('a'))
  await answerQuestion(two.service, first)
  const second = await waitForQuestion(two.service, first.id, requestIdOf(first))
  expect(statusTextOf(second)).toBe('B?')
  two.kill()
  const three = start(code('a'))
  await answerQuestion(three.service, second)
  expect(statusTextOf(await ended(first.id))).toBe('a,b')
})

it('two questions with the same text differ by their ids', async () => {
  const { start, ended } = simulateProcesses()
  const code: AgentFunction = async (turn) => {
    const answers = await Promise.all([turn.ask('Which?'), turn.ask('Which?')])
    return answers.map(({ text }) => text).join()
  }
  const one = start(code)
  const first = await waitForQuestion(one.service, await startTask(one))
  one.kill()
  const two = start(code)
  const answerWith = (task: Task, text: string) =>
    two.service.sendMessage(
      { message: messageOf('', { taskId: task.id, parts: [toolResultOf(requestIdOf(task), text)] }) },
      callOf(),
    )
  void answerWith(first, 'one')
  const second = await waitForQuestion(two.service, first.id, requestIdOf(first))
  expect(requestIdOf(second)).not.toBe(requestIdOf(first))
  void answerWith(second, 'two')
  expect(statusTextOf(await ended(first.id))).toBe('one,two')
})

it('a message that arrives while a paused turn resumes is not lost', async () => {
  const inner = createMemoryLog()
  let [isAnswering, isResuming] = [false, false]
  const log: TaskLog = {
    ...inner,
    async append(taskId, after, events, options) {
      const appended = await inner.append(taskId, after, events, options)
      if (isAnswering && events[0]?.type === 'message') [isAnswering, isResuming] = [false, true]
      return appended
    },
    async read(taskId, after) {
      const page = await inner.read(taskId, after)
      if (!isResuming || after > 0) return page
      isResuming = false
      await send(service, 'also this', { taskId, returnImmediately: true })
      await new Promise((resolve) => setTimeout(resolve, 20)) // the run has read the message by now
      return page
    },
  }
  const texts: string[] = []
  const { service, gauges } = createTestRuntime(
    async (turn) => {
      texts.push(turn.task ? turn.text : (await turn.ask('Sure?')).text)
      return 'done'
    },
    { log, recovery: 'resume' },
  )
  const task = await waitForQuestion(service, await startTask({ service }))
  await until(() => gauges.runs() === 0)
  isAnswering = true
  expect(taskOf(await send(service, 'yes', { taskId: task.id })).status.state).toBe('completed')
  expect(texts).toEqual(['yes', 'also this'])
})
