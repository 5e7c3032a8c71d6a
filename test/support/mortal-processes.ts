import { onTestFinished } from 'vitest'
import type { AgentImplementation } from '../../src/agent/agent-function.ts'
import type { Task } from '../../src/protocol/model.ts'
import type { Service } from '../../src/protocol/service.ts'
import type { RuntimeOptions } from '../../src/runtime/options.ts'
import { loadFold } from '../../src/tasks/fold.ts'
import type { TaskLog } from '../../src/tasks/log.ts'
import { createMemoryLog } from '../../src/tasks/memory-log.ts'
import { houseOf, send, taskOf, until } from './house.ts'
import { mortal } from './mortal-log.ts'

/** One process after the other on one log, each with the agent's code of its time. */
export function processes(options: Partial<RuntimeOptions> = {}) {
  const log: TaskLog = createMemoryLog()
  return {
    log,
    start(run: AgentImplementation) {
      const { log: own, kill } = mortal(log)
      const { service } = houseOf(run, { log: own, leaseTtl: 60, cancelGrace: 20, recovery: 'resume', ...options })
      onTestFinished(kill)
      return { service, kill }
    },
    async ended(taskId: string): Promise<Task> {
      await until(async () => ['completed', 'failed', 'canceled'].includes((await log.head(taskId))?.phase ?? ''))
      const head = await log.head(taskId)
      const task = head && (await loadFold(log, head)).task()
      if (!task) throw new Error(`There is no task ${taskId}.`)
      return task
    },
  }
}

export async function begin({ service }: { readonly service: Service }): Promise<string> {
  return taskOf(await send(service, 'go', { returnImmediately: true })).id
}

export function textIn({ status }: Task): string | undefined {
  return status.message?.parts.map((part) => ('text' in part ? part.text : '')).join('')
}

/** Never resolves: the process is killed meanwhile. */
export function hang(): Promise<never> {
  return new Promise(() => {})
}
