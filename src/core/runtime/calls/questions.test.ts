import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { answerQuestion, readTask, requestIdOf, waitForQuestion } from '../../../../test/support/agents/questions.ts'
import { callOf, createTestRuntime, messageOf } from '../../../../test/support/agents/test-runtime.ts'
import { deferred, until } from '../../../../test/support/async.ts'
import { silentLogger } from '../../../../test/support/logger.ts'
import { scriptedModel, textReply, toolCalls } from '../../../../test/support/models/scripted-model.ts'
import { simulateProcesses, startTask, statusTextOf } from '../../../../test/support/processes/simulated-processes.ts'
import { connect, credentialsPart } from '../../../entries/client.ts'
import { clientTool, createAgentLoop } from '../../../entries/loop.ts'
import { agent } from '../../agent/agent.ts'
import type { AgentFunction, AgentImplementation } from '../../agent/agent-function.ts'
import { toolUse } from '../../protocol/extensions/client-tools.ts'
import { createHandler } from '../../server/handler.ts'

describe('questions of called agents', () => {
  const pick = clientTool({ name: 'pick', input: z.object({}) })

  async function startAgent(name: string, run: AgentImplementation) {
    const handler = createHandler(agent({ name, recovery: 'resume' }, run), {
      logger: silentLogger,
      auth: { anonymous: true },
      turns: { cancelGrace: 20 },
    })
    onTestFinished(() => handler.drain(0))
    return await connect(handler)
  }

  it('questions of several agents are asked one after the other, also across restarts', async () => {
    const { start, ended } = simulateProcesses({ leaseTtl: 500 })
    const ann = await startAgent('Ann', async (turn) => (await turn.ask('Ann?')).text)
    const bob = await startAgent('Bob', async (turn) => (await turn.ask('Bob?')).text)
    const code: AgentFunction = async (turn) => {
      const [own, one, two] = await Promise.all([turn.ask('Own?'), turn.call(ann, 'go'), turn.call(bob, 'go')])
      return [own, one, two].map(({ text }) => text).join()
    }
    const first = start(code)
    let task = await waitForQuestion(first.service, await startTask(first))
    first.kill()
    const seen = [statusTextOf(task)]
    const ids = [requestIdOf(task)]
    for (let round = 0; round < 3; round++) {
      const { service, kill } = start(code)
      await answerQuestion(service, task)
      if (round === 2) break
      task = await waitForQuestion(service, task.id, requestIdOf(task))
      seen.push(statusTextOf(task))
      ids.push(requestIdOf(task))
      kill()
    }
    expect(statusTextOf(await ended(task.id))).toBe('own,ann,bob')
    expect(seen.toSorted()).toEqual(['Ann?', 'Bob?', 'Own?'])
    expect(new Set(ids).size).toBe(3)
  })

  it('requests of two agents with the same id do not collide', async () => {
    const writer = (name: string) =>
      startAgent(
        name,
        createAgentLoop({ model: scriptedModel(toolCalls(['pick', '{}']), textReply(name)), tools: [pick] }),
      )
    const [ann, bob] = [await writer('Ann'), await writer('Bob')]
    const { service, drain } = createTestRuntime(async (turn) => {
      const answers = await turn.callAll([
        [ann, 'go'],
        [bob, 'go'],
      ])
      return answers.map((outcome) => (outcome.ok ? outcome.answer.text : outcome.error.message)).join()
    })
    onTestFinished(() => drain(0))
    const first = await waitForQuestion(service, await startTask({ service }))
    await answerQuestion(service, first)
    const second = await waitForQuestion(service, first.id, requestIdOf(first))
    const [use] = second.status.message?.parts.filter(({ mediaType }) => mediaType === toolUse) ?? []
    expect(use).toMatchObject({ data: { toolUseId: requestIdOf(second) } })
    await expect(answerQuestion(service, first)).rejects.toMatchObject({ code: 'invalid-params' })
    await answerQuestion(service, second)
    await until(async () => (await readTask(service, first.id)).status.state === 'completed')
    expect(statusTextOf(await readTask(service, first.id))).toBe('Ann,Bob')
  })

  const needs: readonly [string, AgentFunction][] = [
    ['input', async (turn) => (await turn.ask('Ann?')).text],
    ['credentials', async (turn) => `ann${(await turn.requireAuth('github')).secret().slice(0, 0)}`],
  ]
  const cases = needs.flatMap(([what, run]) => [[what, 'fail', run] as const, [what, 'resume', run] as const])

  it.each(cases)(
    'the progress of another agent does not replace a question: %s, policy %s',
    async (_, recovery, run) => {
      const finish = deferred()
      const ann = await startAgent('Ann', run)
      const bob = await startAgent('Bob', async (turn) => {
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
      await until(async () => (await readTask(service, id)).status.state.endsWith('-required'))
      const task = await readTask(service, id)
      finish.resolve()
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect((await readTask(service, id)).status).toEqual(task.status)
      if (task.status.state === 'input-required') await answerQuestion(service, task)
      else {
        const parts = [credentialsPart({ scheme: 'github', credentials: 'a-long-token' })]
        await service.sendMessage({ message: messageOf('', { taskId: id, parts }) }, callOf())
      }
      await until(async () => (await readTask(service, id)).status.state === 'completed')
      expect(statusTextOf(await readTask(service, id))).toBe('ann,bob')
    },
  )
})
