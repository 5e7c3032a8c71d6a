import { agent } from '../../../src/core/agent/agent.ts'
import type { AgentImplementation } from '../../../src/core/agent/agent-function.ts'
import { anonymous, type Message } from '../../../src/core/protocol/model.ts'
import type { Call, Outcome, SendRequest, Service } from '../../../src/core/protocol/service.ts'
import type { RuntimeOptions } from '../../../src/core/runtime/options.ts'
import { createRuntime, type Runtime } from '../../../src/core/runtime/runtime.ts'
import type { TaskLog } from '../../../src/core/tasks/log.ts'
import { createMemoryLog } from '../../../src/core/tasks/memory-log.ts'
import { silentLogger } from '../logger.ts'

export interface TestRuntime extends Runtime {
  readonly log: TaskLog
}

/** Runs an agent on a log, without a transport. */
export function createTestRuntime(run: AgentImplementation, options: Partial<RuntimeOptions> = {}): TestRuntime {
  const log = options.log ?? createMemoryLog()
  const runtime = createRuntime({
    agent: agent({ name: 'Test', inputModes: ['*/*'] }, run),
    logger: silentLogger,
    ...options,
    log,
  })
  return { ...runtime, log }
}

export function callOf(options: Partial<Call> = {}): Call {
  return { principal: anonymous, signal: new AbortController().signal, ...options }
}

let sent = 0
export function messageOf(text: string, options: Partial<Message> = {}): Message {
  return { messageId: `m-${++sent}`, role: 'user', parts: [{ text }], ...options }
}

export function send(
  service: Service,
  text: string,
  { taskId, messageId, ...configuration }: { taskId?: string; messageId?: string } & SendRequest['configuration'] = {},
  call: Partial<Call> = {},
): Promise<Outcome> {
  const message = messageOf(text, { ...(taskId && { taskId }), ...(messageId && { messageId }) })
  return service.sendMessage({ message, configuration }, callOf(call))
}

/** The task of an outcome. Throws if it is a message. */
export function taskOf(outcome: Outcome) {
  if (outcome.type !== 'task') throw new Error(`expected a task, got the message ${JSON.stringify(outcome.message)}`)
  return outcome.task
}
