import { inputRequestIn, toolResult } from '../../../src/core/protocol/extensions/client-tools.ts'
import type { Part, Task } from '../../../src/core/protocol/model.ts'
import type { Service } from '../../../src/core/protocol/service.ts'
import { until } from '../async.ts'
import { statusTextOf } from '../processes/simulated-processes.ts'
import { callOf, messageOf } from './test-runtime.ts'

export async function readTask(service: Service, taskId: string): Promise<Task> {
  return await service.getTask({ taskId }, callOf())
}

/** The id of the input request that a task waits for. */
export function requestIdOf(task: Task): string {
  return `${inputRequestIn(task.status.message)?.requestId}`
}

/** Waits until the task has an input request other than `previous`. */
export async function waitForQuestion(service: Service, taskId: string, previous = ''): Promise<Task> {
  let task = await readTask(service, taskId)
  await until(async () => {
    task = await readTask(service, taskId)
    return task.status.state === 'input-required' && !['undefined', previous].includes(requestIdOf(task))
  })
  return task
}

export function toolResultOf(toolUseId: string, result: string): Part {
  return { data: { toolUseId, result }, mediaType: toolResult }
}

/** Answers the open request by its id. The answer to "A?" is "a". */
export async function answerQuestion(service: Service, task: Task): Promise<void> {
  const text = (statusTextOf(task) ?? '').replace(/\W/g, '').toLowerCase()
  const message = messageOf('', { taskId: task.id, parts: [toolResultOf(requestIdOf(task), text)] })
  await service.sendMessage({ message, configuration: { returnImmediately: true } }, callOf())
}
