import { expect, it } from 'vitest'
import { callOf, messageOf, send, taskOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import type { ServiceContract } from './contract.ts'
import { codeOf, countingAgent } from './contract.ts'

export function errorContract(contract: ServiceContract) {
  const { open, endedTaskError = 'task-ended', hasMessages = true, isComplete = true } = contract

  it('tell that there is no such task', async () => {
    const service = await open(countingAgent)
    const taskId = 'nobody-knows'
    const call = callOf()
    expect(await codeOf(service.getTask({ taskId }, call))).toBe('task-not-found')
    expect(await codeOf(service.cancelTask({ taskId }, call))).toBe('task-not-found')
    expect(await codeOf(collect(service.subscribeToTask({ taskId }, call)))).toBe('task-not-found')
    // Where callers name tasks themselves, a new name begins one.
    if (!hasMessages) return
    expect(await codeOf(send(service, 'more', { taskId }))).toBe('task-not-found')
    const message = messageOf('more', { taskId })
    expect(await codeOf(collect(service.streamMessage({ message }, call)))).toBe('task-not-found')
  })

  it('tell that a task has ended', async () => {
    const service = await open(countingAgent)
    const { id: taskId } = taskOf(await send(service, 'count'))
    expect(await codeOf(send(service, 'more', { taskId }))).toBe(endedTaskError)
    const message = messageOf('more', { taskId })
    expect(await codeOf(collect(service.streamMessage({ message }, callOf())))).toBe(endedTaskError)
  })

  it('tell that there is no push', async () => {
    const service = await open(countingAgent)
    const { id: taskId } = taskOf(await send(service, 'count'))
    const ref = { taskId, id: 'c' }
    const call = callOf()
    const refused = 'push-not-supported'
    expect(await codeOf(service.createPushConfig({ ...ref, url: 'https://example.com/hook' }, call))).toBe(refused)
    expect(await codeOf(service.getPushConfig(ref, call))).toBe(refused)
    if (!isComplete) return
    expect(await codeOf(service.listPushConfigs({ taskId }, call))).toBe(refused)
    expect(await codeOf(service.deletePushConfig(ref, call))).toBe(refused)
  })

  it('tell that there is no extended card', async () => {
    expect(await codeOf((await open(countingAgent)).getExtendedCard({}, callOf()))).toBe('unsupported-operation')
  })
}
