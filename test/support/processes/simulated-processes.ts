import { onTestFinished } from 'vitest'
import type { AgentImplementation } from '../../../src/core/agent/agent-function.ts'
import type { Task } from '../../../src/core/protocol/model.ts'
import type { Service } from '../../../src/core/protocol/service.ts'
import type { RuntimeOptions } from '../../../src/core/runtime/options.ts'
import { loadFold } from '../../../src/core/tasks/fold.ts'
import type { TaskLog } from '../../../src/core/tasks/log.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import { createTestRuntime, send, taskOf } from '../agents/test-runtime.ts'
import { until } from '../async.ts'
import { killableLog } from './killable-log.ts'

/** Simulates consecutive processes on one log, each with its own version of the agent. */
export function simulateProcesses(options: Partial<RuntimeOptions> = {}) {
  const log: TaskLog = createMemoryLog()
  return {
    log,
    start(run: AgentImplementation, more: Partial<RuntimeOptions> = {}) {
      const { log: processLog, kill } = killableLog(log)
      const { service } = createTestRuntime(run, {
        log: processLog,
        leaseTtl: 60,
        cancelGrace: 20,
        recovery: 'resume',
        ...options,
        ...more,
      })
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

export async function startTask({ service }: { readonly service: Service }): Promise<string> {
  return taskOf(await send(service, 'go', { returnImmediately: true })).id
}

export function statusTextOf({ status }: Task): string | undefined {
  return status.message?.parts.map((part) => ('text' in part ? part.text : '')).join('')
}

/** A promise that never settles, for work during which the process is killed. */
export function never(): Promise<never> {
  return new Promise(() => {})
}
