import { agent } from '../../src/agent/agent.ts'
import type { AgentImplementation } from '../../src/agent/agent-function.ts'
import type { Logger } from '../../src/base/logger.ts'
import { anonymous, type Message } from '../../src/protocol/model.ts'
import type { Call, Outcome, SendRequest, Service } from '../../src/protocol/service.ts'
import type { RuntimeOptions } from '../../src/runtime/options.ts'
import { createRuntime, type Runtime } from '../../src/runtime/runtime.ts'
import type { TaskLog } from '../../src/tasks/log.ts'
import { createMemoryLog } from '../../src/tasks/memory-log.ts'

export const quiet: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/** For tests in which nobody in particular lists everything. */
export const forAll = { anonymous: { listAll: true } } as const

export interface House extends Runtime {
  readonly log: TaskLog
}

/** An agent over a log, without a wire. */
export function houseOf(run: AgentImplementation, options: Partial<RuntimeOptions> = {}): House {
  const log = options.log ?? createMemoryLog()
  const runtime = createRuntime({ agent: agent({ name: 'Test' }, run), logger: quiet, ...options, log })
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

/** The task that an outcome must be. */
export function taskOf(outcome: Outcome) {
  if (outcome.type !== 'task') throw new Error(`expected a task, got the message ${JSON.stringify(outcome.message)}`)
  return outcome.task
}

/** A promise and the means to settle it from outside. */
export function gate<T = void>() {
  return Promise.withResolvers<T>()
}

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of source) all.push(item)
  return all
}

export async function until(condition: () => boolean | Promise<boolean>, within = 5_000): Promise<void> {
  const end = Date.now() + within
  while (!(await condition())) {
    if (Date.now() > end) throw new Error('it did not happen in time')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
