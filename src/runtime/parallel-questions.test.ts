import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { callOf, createTestRuntime, messageOf } from '../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../test/support/async.ts'
import { silentLogger } from '../../test/support/logger.ts'
import { scriptedModel, textReply, toolCalls } from '../../test/support/models/scripted-model.ts'
import { simulateProcesses, startTask, statusTextOf } from '../../test/support/processes/simulated-processes.ts'
import { type AgentFunction, agent } from '../agent/agent.ts'
import type { AgentImplementation } from '../agent/agent-function.ts'
import { connect, credentialsPart } from '../entries/client.ts'
import { clientTool, createAgentLoop } from '../entries/loop.ts'
import { inputRequestIn, toolResult, toolUse } from '../protocol/extensions/client-tools.ts'
import type { Task } from '../protocol/model.ts'
import type { Service } from '../protocol/service.ts'
import { createHandler } from '../server/handler.ts'

const requestOf = (task: Task) => `${inputRequestIn(task.status.message)?.requestId}`
const resultFor = (toolUseId: string, result: string) => ({ data: { toolUseId, result }, mediaType: toolResult })

async function read(service: Service, taskId: string): Promise<Task> {
  return await service.getTask({ taskId }, callOf())
}

/** The task when it asks something, which is not that. */
async function asked(service: Service, taskId: string, not = ''): Promise<Task> {
  let task = await read(service, taskId)
  await until(async () => {
    task = await read(service, taskId)
    return task.status.state === 'input-required' && !['undefined', not].includes(requestOf(task))
  })
  return task
}

/** Answers by the id of the request, and says which question it was: "A?" is answered with "a". */
async function answer(service: Service, task: Task): Promise<void> {
  const said = (statusTextOf(task) ?? '').replace(/\W/g, '').toLowerCase()
  const message = messageOf('', { taskId: task.id, parts: [resultFor(requestOf(task), said)] })
  await service.sendMessage({ message, configuration: { returnImmediately: true } }, callOf())
}

const both: AgentFunction = async (turn) => {
  const answers = await Promise.all([turn.ask('A?'), turn.ask('B?')])
  return answers.map(({ text }) => text).join()
}

describe.each(['fail', 'resume'] as const)('with the policy %s', (recovery) => {
  function house(run: AgentFunction) {
    const opened = createTestRuntime(run, { recovery, leaseTtl: 200, cancelGrace: 20 })
    onTestFinished(() => opened.drain(0))
    return opened.service
  }

  it('a plain question has an id, and takes one answer by it', async () => {
    const done = deferred()
    const service = house(async (turn) => {
      const { text } = await turn.ask('Sure?')
      await turn.step('wait', () => done.promise)
      return text
    })
    const task = await asked(service, await startTask({ service }))
    const request = inputRequestIn(task.status.message)
    expect(request).toEqual({ requestId: expect.stringMatching(/./), prompt: 'Sure?', sensitive: false })
    const wrong = messageOf('', { taskId: task.id, parts: [resultFor('other', 'no')] })
    await expect(service.sendMessage({ message: wrong }, callOf())).rejects.toMatchObject({ code: 'invalid-params' })
    await answer(service, task)
    await expect(answer(service, task)).rejects.toMatchObject({
      code: 'invalid-params',
      message: expect.stringContaining('answered already'),
    })
    done.resolve()
    await until(async () => (await read(service, task.id)).status.state === 'completed')
    expect(statusTextOf(await read(service, task.id))).toBe('sure')
  })

  it('a question stays told while the turn does something else', async () => {
    const asking = deferred()
    const service = house(async (turn) => {
      const working = asking.promise.then(() => turn.status('working', 'Meanwhile'))
      const { text } = await turn.ask('Sure?')
      await working
      return text
    })
    const task = await asked(service, await startTask({ service }))
    asking.resolve()
    await new Promise((resolve) => setTimeout(resolve, 50))
    expect((await read(service, task.id)).status).toEqual(task.status)
    await answer(service, task)
    await until(async () => (await read(service, task.id)).status.state === 'completed')
    expect(JSON.stringify((await read(service, task.id)).history)).toContain('Meanwhile')
  })

  it('two questions that are asked side by side are told one after the other, each with its own answer', async () => {
    const service = house(both)
    const first = await asked(service, await startTask({ service }))
    await answer(service, first)
    const second = await asked(service, first.id, requestOf(first))
    expect([statusTextOf(first), statusTextOf(second)]).toEqual(['A?', 'B?'])
    await expect(answer(service, first)).rejects.toMatchObject({ code: 'invalid-params' })
    await answer(service, second)
    await until(async () => (await read(service, first.id)).status.state === 'completed')
    expect(statusTextOf(await read(service, first.id))).toBe('a,b')
  })
})

it('two questions that are asked side by side find their answers across restarts', async () => {
  const { start, ended } = simulateProcesses()
  const one = start(both)
  const first = await asked(one.service, await startTask(one))
  one.kill()
  const two = start(both)
  await answer(two.service, first)
  const second = await asked(two.service, first.id, requestOf(first))
  two.kill()
  const three = start(both)
  await answer(three.service, second)
  expect(statusTextOf(await ended(first.id))).toBe('a,b')
})

it('a question that comes up while another one waits is asked after it, in whichever order they come up again', async () => {
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
  const first = await asked(one.service, await startTask(one))
  expect(statusTextOf(first)).toBe('A?')
  one.kill()
  const two = start(code('a'))
  await answer(two.service, first)
  const second = await asked(two.service, first.id, requestOf(first))
  expect(statusTextOf(second)).toBe('B?')
  two.kill()
  const three = start(code('a'))
  await answer(three.service, second)
  expect(statusTextOf(await ended(first.id))).toBe('a,b')
})

it('two questions in the same words are told apart by their ids', async () => {
  const { start, ended } = simulateProcesses()
  const code: AgentFunction = async (turn) => {
    const answers = await Promise.all([turn.ask('Which?'), turn.ask('Which?')])
    return answers.map(({ text }) => text).join()
  }
  const one = start(code)
  const first = await asked(one.service, await startTask(one))
  one.kill()
  const two = start(code)
  const say = (task: Task, text: string) =>
    two.service.sendMessage(
      { message: messageOf('', { taskId: task.id, parts: [resultFor(requestOf(task), text)] }) },
      callOf(),
    )
  void say(first, 'one')
  const second = await asked(two.service, first.id, requestOf(first))
  expect(requestOf(second)).not.toBe(requestOf(first))
  void say(second, 'two')
  expect(statusTextOf(await ended(first.id))).toBe('one,two')
})

describe('what other agents ask, and what the turn asks itself', () => {
  const pick = clientTool({ name: 'pick', input: z.object({}) })

  async function other(name: string, run: AgentImplementation) {
    const handler = createHandler(agent({ name, recovery: 'resume' }, run), {
      logger: silentLogger,
      auth: { anonymous: true },
      turns: { cancelGrace: 20 },
    })
    onTestFinished(() => handler.drain(0))
    return await connect(handler)
  }

  it('goes to the caller one after the other, also across restarts', async () => {
    const { start, ended } = simulateProcesses({ leaseTtl: 500 })
    const ann = await other('Ann', async (turn) => (await turn.ask('Ann?')).text)
    const bob = await other('Bob', async (turn) => (await turn.ask('Bob?')).text)
    const code: AgentFunction = async (turn) => {
      const [own, one, two] = await Promise.all([turn.ask('Own?'), turn.call(ann, 'go'), turn.call(bob, 'go')])
      return [own, one, two].map(({ text }) => text).join()
    }
    const first = start(code)
    let task = await asked(first.service, await startTask(first))
    first.kill()
    const seen = [statusTextOf(task)]
    const ids = [requestOf(task)]
    for (let round = 0; round < 3; round++) {
      const { service, kill } = start(code)
      await answer(service, task)
      if (round === 2) break
      task = await asked(service, task.id, requestOf(task))
      seen.push(statusTextOf(task))
      ids.push(requestOf(task))
      kill()
    }
    expect(statusTextOf(await ended(task.id))).toBe('own,ann,bob')
    expect(seen.toSorted()).toEqual(['Ann?', 'Bob?', 'Own?'])
    expect(new Set(ids).size).toBe(3)
  })

  it('is told apart although two agents give their requests the same id', async () => {
    const writer = (name: string) =>
      other(name, createAgentLoop({ model: scriptedModel(toolCalls(['pick', '{}']), textReply(name)), tools: [pick] }))
    const [ann, bob] = [await writer('Ann'), await writer('Bob')]
    const { service, drain } = createTestRuntime(async (turn) => {
      const answers = await turn.callAll([
        [ann, 'go'],
        [bob, 'go'],
      ])
      return answers.map((each) => (each.ok ? each.answer.text : each.error.message)).join()
    })
    onTestFinished(() => drain(0))
    const first = await asked(service, await startTask({ service }))
    await answer(service, first)
    const second = await asked(service, first.id, requestOf(first))
    const [use] = second.status.message?.parts.filter(({ mediaType }) => mediaType === toolUse) ?? []
    expect(use).toMatchObject({ data: { toolUseId: requestOf(second) } })
    await expect(answer(service, first)).rejects.toMatchObject({ code: 'invalid-params' })
    await answer(service, second)
    await until(async () => (await read(service, first.id)).status.state === 'completed')
    expect(statusTextOf(await read(service, first.id))).toBe('Ann,Bob')
  })

  const needs: readonly [string, AgentFunction][] = [
    ['input', async (turn) => (await turn.ask('Ann?')).text],
    ['credentials', async (turn) => `ann${(await turn.requireAuth('github')).secret().slice(0, 0)}`],
  ]
  const cases = needs.flatMap(([what, run]) => [[what, 'fail', run] as const, [what, 'resume', run] as const])

  it.each(cases)('stays told while another agent is at work: %s, policy %s', async (_, recovery, run) => {
    const finish = deferred()
    const ann = await other('Ann', run)
    const bob = await other('Bob', async (turn) => {
      await finish.promise
      await turn.status('working', 'Nearly there')
      return 'bob'
    })
    const { service, drain } = createTestRuntime(
      async (turn) => {
        const answers = await Promise.all([turn.call(ann, 'go'), turn.call(bob, 'go')])
        return answers.map(({ text }) => text).join()
      },
      { recovery },
    )
    onTestFinished(() => drain(0))
    const id = await startTask({ service })
    await until(async () => (await read(service, id)).status.state.endsWith('-required'))
    const task = await read(service, id)
    finish.resolve()
    await new Promise((resolve) => setTimeout(resolve, 100))
    expect((await read(service, id)).status).toEqual(task.status)
    if (task.status.state === 'input-required') await answer(service, task)
    else {
      const parts = [credentialsPart({ scheme: 'github', credentials: 'a-long-token' })]
      await service.sendMessage({ message: messageOf('', { taskId: id, parts }) }, callOf())
    }
    await until(async () => (await read(service, id)).status.state === 'completed')
    expect(statusTextOf(await read(service, id))).toBe('ann,bob')
  })
})
