import { expect, test } from 'vitest'
import type { TaskEvent } from '../protocol/events.ts'
import { anonymous, type TaskState } from '../protocol/model.ts'
import { advanceHead, initialHead } from './task-head.ts'

const message = { messageId: 'm', role: 'agent' as const, parts: [{ text: 'which?' }] }

const received: TaskEvent = { type: 'message', message: { ...message, role: 'user' }, principal: anonymous }

const artifact: TaskEvent = { type: 'artifact', artifact: { artifactId: 'a', parts: [] } }

function status(state: TaskState, milliseconds: number): TaskEvent {
  return { type: 'status', status: { state, timestamp: at(milliseconds) } }
}

function at(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

test('a new exchange is received and has no status', () => {
  expect(advanceHead(initialHead(7), [received])).toEqual({
    generation: 1,
    phase: 'received',
    status: undefined,
    changed: 7,
  })
})

test('the last status of a batch sets the phase and the time of the change', () => {
  const head = advanceHead(initialHead(7), [received, status('working', 1_000), artifact, status('completed', 2_000)])
  expect(head).toEqual({
    generation: 4,
    phase: 'completed',
    status: { state: 'completed', timestamp: new Date(2_000).toISOString() },
    changed: 2_000,
  })
})

test('artifacts and cancellations change only the generation', () => {
  const head = advanceHead(initialHead(7), [received, status('working', 1_000)])
  expect(advanceHead(head, [artifact, { type: 'cancel' }, artifact])).toEqual({ ...head, generation: 5 })
})

test('a reply ends the exchange without a status', () => {
  const before = Date.now()
  const head = advanceHead(initialHead(7), [received, { type: 'reply', message }])
  expect(head).toMatchObject({ generation: 2, phase: 'answered', status: undefined })
  expect(head.changed).toBeGreaterThanOrEqual(before)
})

test('a message removes the message of the status that it answers', () => {
  const rest = { state: 'input-required', timestamp: at(1_000), carry: { 'v0.3': { k: 1 } } } as const
  const question: TaskEvent = { type: 'status', status: { ...rest, message } }
  const head = advanceHead(initialHead(7), [received, question])
  expect(head.status?.message).toEqual(message)
  expect(advanceHead(head, [received])).toEqual({
    generation: 3,
    phase: 'input-required',
    status: rest,
    changed: 1_000,
  })
})
