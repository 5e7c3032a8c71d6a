import { expect, test } from 'vitest'
import type { TaskEvent } from '../protocol/events.ts'
import { anonymous, type TaskState } from '../protocol/model.ts'
import { advanceHead, initialHead } from './task-head.ts'

const message = { messageId: 'm', role: 'agent' as const, parts: [{ text: 'which?' }] }
const received: TaskEvent = { type: 'message', message: { ...message, role: 'user' }, principal: anonymous }
const artifact: TaskEvent = { type: 'artifact', artifact: { artifactId: 'a', parts: [] } }

test('a new exchange is received and has no status', () => {
  expect(advanceHead(initialHead(7), [received])).toEqual({
    generation: 1,
    phase: 'received',
    status: undefined,
    changed: 7,
  })
})

test('the last status of a batch is where the task stands, and its time is when it changed', () => {
  const standing = advanceHead(initialHead(7), [
    received,
    status('working', 1_000),
    artifact,
    status('completed', 2_000),
  ])
  expect(standing).toEqual({
    generation: 4,
    phase: 'completed',
    status: { state: 'completed', timestamp: new Date(2_000).toISOString() },
    changed: 2_000,
  })
})

test('chunks and wishes to cancel change nothing but the generation', () => {
  const standing = advanceHead(initialHead(7), [received, status('working', 1_000)])
  expect(advanceHead(standing, [artifact, { type: 'cancel' }, artifact])).toEqual({ ...standing, generation: 5 })
})

test('a reply ends the exchange without a status', () => {
  const before = Date.now()
  const standing = advanceHead(initialHead(7), [received, { type: 'reply', message }])
  expect(standing).toMatchObject({ generation: 2, phase: 'answered', status: undefined })
  expect(standing.changed).toBeGreaterThanOrEqual(before)
})

test('a message takes the message out of the status it answers, and leaves the rest', () => {
  const rest = { state: 'input-required', timestamp: at(1_000), carry: { 'v0.3': { k: 1 } } } as const
  const asked: TaskEvent = { type: 'status', status: { ...rest, message } }
  const standing = advanceHead(initialHead(7), [received, asked])
  expect(standing.status?.message).toEqual(message)
  expect(advanceHead(standing, [received])).toEqual({
    generation: 3,
    phase: 'input-required',
    status: rest,
    changed: 1_000,
  })
})

function status(state: TaskState, milliseconds: number): TaskEvent {
  return { type: 'status', status: { state, timestamp: at(milliseconds) } }
}

function at(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
