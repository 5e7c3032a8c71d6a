import { expect, it } from 'vitest'
import { textOf } from '../../../src/protocol/model.ts'
import { callOf, messageOf, send, taskOf } from '../../support/agents/test-runtime.ts'
import type { ServiceContract } from './contract.ts'
import { codeOf, countingAgent, stateOf, taskIdOf, textsOf } from './contract.ts'

export function taskContract({ open, canList = true }: ServiceContract) {
  it('can be got as they were sent back', async () => {
    const service = await open(countingAgent)
    const task = taskOf(await send(service, 'count', { historyLength: 10 }))
    const again = await service.getTask({ taskId: task.id, historyLength: 10 }, callOf())
    expect({ ...again, generation: 0 }).toEqual({ ...task, generation: 0 })
  })

  it('are got with as much of their history as was asked for', async () => {
    const service = await open(countingAgent)
    const { id: taskId } = taskOf(await send(service, 'ask'))
    await send(service, 'three', { taskId })
    const whole = ['ask', 'Thinking', 'Up to what?', 'three', 'Counting']
    const historyOf = async (historyLength: number) =>
      (await service.getTask({ taskId, historyLength }, callOf())).history.map(textOf)
    expect(await historyOf(10)).toEqual(whole)
    expect(await historyOf(2)).toEqual(whole.slice(-2))
    expect(await historyOf(0)).toEqual([])
  })

  it.runIf(canList)('can be listed, page by page', async () => {
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

  it.runIf(canList)('are listed by their state, and with artifacts if asked for', async () => {
    const service = await open(countingAgent)
    const { id } = taskOf(await send(service, 'ask'))
    await send(service, 'count')
    const waiting = await service.listTasks({ state: 'input-required' }, callOf())
    expect(waiting.tasks.map((task) => task.id)).toEqual([id])
    const done = await service.listTasks({ state: 'completed', includeArtifacts: true }, callOf())
    expect(done.tasks.flatMap(({ artifacts }) => artifacts.map(textsOf))).toEqual(['one|two|three'])
  })

  it('can be canceled while they run, and not again', async () => {
    const service = await open(countingAgent)
    const events = service.streamMessage({ message: messageOf('wait') }, callOf())
    const { value } = await events.next()
    const taskId = taskIdOf(value)
    await events.return(undefined)
    expect(stateOf(await service.cancelTask({ taskId }, callOf()))).toBe('canceled')
    expect(await codeOf(service.cancelTask({ taskId }, callOf()))).toBe('task-not-cancelable')
  })

  it('can fail', async () => {
    const task = taskOf(await send(await open(countingAgent), 'fail'))
    expect(stateOf(task)).toBe('failed')
    expect(textOf(task.status.message ?? { parts: [] })).toBe('Out of fingers')
  })
}
