import { expect, it } from 'vitest'
import { textOf } from '../../../src/core/protocol/model.ts'
import { callOf, messageOf, send, taskOf } from '../../support/agents/test-runtime.ts'
import type { ServiceContract } from './contract.ts'
import { codeOf, countingAgent, stateOf, taskIdOf, textsOf } from './contract.ts'

export function taskContract({ open, canList = true }: ServiceContract) {
  it('a task can be read as it was returned by the send', async () => {
    const service = await open(countingAgent)
    const task = taskOf(await send(service, 'count', { historyLength: 10 }))
    const again = await service.getTask({ taskId: task.id, historyLength: 10 }, callOf())
    expect({ ...again, generation: 0 }).toEqual({ ...task, generation: 0 })
  })

  it('a task is returned with the requested length of history', async () => {
    const service = await open(countingAgent)
    const { id: taskId } = taskOf(await send(service, 'ask'))
    await send(service, 'three', { taskId })
    const history = ['ask', 'Thinking', 'Up to what?', 'three', 'Counting']
    const historyOf = async (historyLength: number) =>
      (await service.getTask({ taskId, historyLength }, callOf())).history.map(textOf)
    expect(await historyOf(10)).toEqual(history)
    expect(await historyOf(2)).toEqual(history.slice(-2))
    expect(await historyOf(0)).toEqual([])
  })

  it.runIf(canList)('tasks can be listed page by page', async () => {
    const service = await open(countingAgent)
    const sent: string[] = []
    for (const _ of [1, 2, 3]) {
      const message = messageOf('count', { contextId: 'c' })
      sent.push(taskOf(await service.sendMessage({ message }, callOf())).id)
    }
    await send(service, 'ask')
    const first = await service.listTasks({ contextId: 'c', pageSize: 2 }, callOf())
    expect(first.totalSize).toBe(3)
    const second = await service.listTasks({ contextId: 'c', pageSize: 2, pageToken: first.nextPageToken }, callOf())
    expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(sent.toReversed())
    expect(second.nextPageToken).toBe('')
  })

  it.runIf(canList)('tasks can be listed by state, and with artifacts', async () => {
    const service = await open(countingAgent)
    const { id } = taskOf(await send(service, 'ask'))
    await send(service, 'count')
    const waiting = await service.listTasks({ state: 'input-required' }, callOf())
    expect(waiting.tasks.map((task) => task.id)).toEqual([id])
    const done = await service.listTasks({ state: 'completed', includeArtifacts: true }, callOf())
    expect(done.tasks.flatMap(({ artifacts }) => artifacts.map(textsOf))).toEqual(['onetwothree'])
  })

  it('a running task can be canceled once', async () => {
    const service = await open(countingAgent)
    const events = service.streamMessage({ message: messageOf('wait') }, callOf())
    const { value } = await events.next()
    const taskId = taskIdOf(value)
    await events.return(undefined)
    expect(stateOf(await service.cancelTask({ taskId }, callOf()))).toBe('canceled')
    expect(await codeOf(service.cancelTask({ taskId }, callOf()))).toBe('task-not-cancelable')
  })

  it('a failed task has the message of the agent', async () => {
    const task = taskOf(await send(await open(countingAgent), 'fail'))
    expect(stateOf(task)).toBe('failed')
    expect(textOf(task.status.message ?? { parts: [] })).toBe('Out of fingers')
  })
}
