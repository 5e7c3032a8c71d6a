import type { ArtifactEvent, MessageEvent, StatusEvent, StoredEvent, TaskEvent } from '../../../core/protocol/events.ts'
import { anonymous, type TaskState } from '../../../core/protocol/model.ts'
import type { NewTask, TaskLog } from '../../../core/tasks/log.ts'

export const lease = { holder: 'test', ttl: 60_000 }

export function newTask(overrides: Partial<NewTask> = {}): NewTask {
  return { taskId: crypto.randomUUID(), contextId: 'context', owner: 'alice', ...overrides }
}

export function message(text = 'hello', dialect?: string): MessageEvent {
  const content = { messageId: 'm', role: 'user', parts: [{ text }] } as const
  return { type: 'message', message: content, principal: anonymous, ...(dialect && { dialect }) }
}

export function status(state: TaskState, milliseconds = 1_000, text?: string): StatusEvent {
  const content = text === undefined ? {} : { message: { messageId: 's', role: 'agent' as const, parts: [{ text }] } }
  const carry = { 'v0.3': { state: 'unknown' } }
  return { type: 'status', status: { state, timestamp: new Date(milliseconds).toISOString(), carry, ...content } }
}

export function chunk(text: string): ArtifactEvent {
  return { type: 'artifact', artifact: { artifactId: 'a', parts: [{ text }] }, append: true }
}

export const step: TaskEvent = {
  type: 'journal',
  entry: { type: 'step', step: 'pay', call: 1, result: { paid: true } },
}

export const reply: TaskEvent = {
  type: 'reply',
  message: { messageId: 'r', role: 'agent', parts: [{ text: 'hi' }] },
}

/** Creates a task whose lease has fence 1. */
export async function createTask(
  log: TaskLog,
  overrides: Partial<NewTask> = {},
  ...events: TaskEvent[]
): Promise<string> {
  const task = newTask(overrides)
  await log.create(task, [message(), ...events], { lease })
  return task.taskId
}

export async function readAll(log: TaskLog, taskId: string, after = 0): Promise<readonly StoredEvent[]> {
  const all: StoredEvent[] = []
  for (;;) {
    const page = await log.read(taskId, all.at(-1)?.generation ?? after)
    if (page.length === 0) return all
    all.push(...page)
  }
}

export async function readGenerations(log: TaskLog, taskId: string): Promise<readonly number[]> {
  return (await readAll(log, taskId)).map(({ generation }) => generation)
}

/** 1, 2, … up to `last`. */
export function upTo(last: number): readonly number[] {
  return Array.from({ length: last }, (_, index) => index + 1)
}
