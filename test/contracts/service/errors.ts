import { expect, it } from 'vitest'
import { callOf, messageOf, send, taskOf } from '../../support/agents/test-runtime.ts'
import { collect } from '../../support/async.ts'
import type { ServiceContract } from './contract.ts'
import { codeOf, countingAgent } from './contract.ts'

export function errorContract(contract: ServiceContract) {
  const { open, endedTaskError = 'task-ended', hasMessages = true, isComplete = true } = contract

  it('an unknown task is reported as not found', async () => {
    const service = await open(countingAgent)
    const taskId = 'unknown-task'
    const call = callOf()
    expect(await codeOf(service.getTask({ taskId }, call))).toBe('task-not-found')
    expect(await codeOf(service.cancelTask({ taskId }, call))).toBe('task-not-found')
    expect(await codeOf(collect(service.subscribeToTask({ taskId }, call)))).toBe('task-not-found')
    // In 0.1, callers choose the task id, so an unknown one creates a task.
    if (!hasMessages) return
    expect(await codeOf(send(service, 'more', { taskId }))).toBe('task-not-found')
    const message = messageOf('more', { taskId })
    expect(await codeOf(collect(service.streamMessage({ message }, call)))).toBe('task-not-found')
  })

  it('a message to an ended task is rejected', async () => {
    const service = await open(countingAgent)
    const { id: taskId } = taskOf(await send(service, 'count'))
    expect(await codeOf(send(service, 'more', { taskId }))).toBe(endedTaskError)
    const message = messageOf('more', { taskId })
    expect(await codeOf(collect(service.streamMessage({ message }, callOf())))).toBe(endedTaskError)
  })

  it('push operations are rejected if push is disabled', async () => {
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

  it('a missing extended card is reported as unsupported, or is the public card', async () => {
    const card = (await open(countingAgent)).getExtendedCard({}, callOf())
    if (contract.hasOneCard) expect(await card).toMatchObject({ name: 'Test' })
    else expect(await codeOf(card)).toBe('unsupported-operation')
  })
}
