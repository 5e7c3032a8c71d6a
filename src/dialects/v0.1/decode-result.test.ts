import { describe, expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import type { Message } from '../../protocol/model.ts'
import { v0_1Client } from './client.ts'

const { decodeResult: decode, decodeEvent } = v0_1Client

const timestamp = '2025-05-01T08:00:00.000Z'
const request = { taskId: 't-1' }
const said = (text: string) => ({ role: 'agent', parts: [{ type: 'text', text }] })

function task(members: object) {
  return decode.getTask({ id: 't-1', sessionId: 's-1', status: { state: 'working', timestamp }, ...members }, request)
}

function state(word: string, metadata?: object) {
  const { status, metadata: rest } = task({ status: { state: word, timestamp }, metadata })
  return [status.state, rest]
}

describe('a task', () => {
  it('is read with its session as its context, and its artifacts named by their numbers', () => {
    expect(
      task({
        status: { state: 'completed', timestamp: '2025-05-01T08:00:00.123456', message: null },
        artifacts: [{ parts: [] }, { name: 'b', parts: [], index: 4, lastChunk: true, metadata: { k: 1 } }],
        metadata: { k: 2 },
      }),
    ).toEqual({
      id: 't-1',
      contextId: 's-1',
      history: [],
      status: { state: 'completed', timestamp: '2025-05-01T08:00:00.123Z' },
      metadata: { k: 2 },
      artifacts: [
        { artifactId: 'artifact-0', parts: [], carry: { 'v0.1': { index: null } } },
        {
          artifactId: 'artifact-4',
          name: 'b',
          parts: [],
          metadata: { k: 1 },
          carry: { 'v0.1': { index: 4, lastChunk: true } },
        },
      ],
      generation: 0,
    })
  })

  it('without a session is of the one that was asked for, or of its own', () => {
    const wire = { id: 't-1', status: { state: 'working' } }
    const message: Message = { messageId: 'm', role: 'user', parts: [], contextId: 's-2' }
    expect(decode.getTask(wire, request).contextId).toBe('t-1')
    expect(decode.sendMessage(wire, { message })).toMatchObject({ type: 'task', task: { contextId: 's-2' } })
  })

  it('gives its messages ids that are the same at every reading, and of no two messages', () => {
    const history = [said('a'), said('a'), said('b')]
    const status = { state: 'working', timestamp, message: said('a') }
    const read = () => {
      const { history: past, status: now } = task({ history, status })
      return [...past, now.message].map((message) => message?.messageId)
    }
    expect(read()).toEqual(read())
    expect(new Set(read()).size).toBe(4)
    for (const id of read()) expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/)
    expect(task({ history: history.slice(1) }).history[0]?.messageId).toBe(read()[0])
    expect(task({ id: 't-2', history }).history[0]?.messageId).not.toBe(read()[0])
    expect(task({ history }).history[0]).toMatchObject({ taskId: 't-1', contextId: 's-1' })
  })

  it('is in the state that its metadata tells, if 0.1 has no word for it', () => {
    expect(state('failed', { 'a2a.state': 'TASK_STATE_REJECTED', k: 1 })).toEqual(['rejected', { k: 1 }])
    expect(state('input-required', { 'a2a.state': 'TASK_STATE_AUTH_REQUIRED' })).toEqual(['auth-required', undefined])
    expect(state('working', { 'a2a.state': 'TASK_STATE_REJECTED' })).toEqual([
      'working',
      { 'a2a.state': 'TASK_STATE_REJECTED' },
    ])
  })

  it('of an unknown state is taken for one that goes on', () => {
    expect(state('unknown')).toEqual(['working', undefined])
    expect(state('resting')).toEqual(state('unknown'))
  })

  it('may spell its state as agents in the wild do', () => {
    const spellings = ['cancelled', 'INPUT_REQUIRED', 'auth_required', 'rejected', 'pending', 'Running']
    expect(spellings.map((word) => state(word)[0])).toEqual([
      'canceled',
      'input-required',
      'auth-required',
      'rejected',
      'submitted',
      'working',
    ])
  })

  it('that is none is the fault of the agent', () => {
    const problem = (wire: unknown) => {
      try {
        decode.getTask(wire, request)
      } catch (error) {
        if (error instanceof A2AError) return [error.code, error.message]
      }
    }
    expect(problem({ id: 't', status: {} })).toEqual([
      'invalid-agent-response',
      expect.stringMatching(/^status\.state: expected one of submitted, .* got nothing$/),
    ])
    expect(problem(null)).toEqual(['invalid-agent-response', 'result: expected an object, got null'])
  })
})

describe('an event', () => {
  const ref = { taskId: 't-1', contextId: 's-2', generation: 0 }
  const send = { message: { messageId: 'm', role: 'user', parts: [], contextId: 's-2' } } as const

  it('is a change of the status, the last one if it says so', () => {
    const wire = { id: 't-1', status: { state: 'completed', timestamp }, metadata: { k: 1 } }
    const event = { type: 'status', ...ref, status: { state: 'completed', timestamp }, metadata: { k: 1 } }
    expect(decodeEvent(wire, send)).toEqual(event)
    expect(decodeEvent({ ...wire, final: true, artifact: null }, send)).toEqual({ ...event, isLast: true })
  })

  it('is a change of the artifact of that number, the first if it names none', () => {
    const wire = { id: 't-1', artifact: { parts: [], index: 2, append: true, lastChunk: false }, final: false }
    expect(decodeEvent(wire, send)).toEqual({
      type: 'artifact',
      ...ref,
      artifact: { artifactId: 'artifact-2', parts: [], carry: { 'v0.1': { index: 2 } } },
      append: true,
      lastChunk: false,
    })
    expect(decodeEvent({ id: 't-1', artifact: { parts: [] } }, request)).toMatchObject({
      artifact: { artifactId: 'artifact-0' },
      contextId: 't-1',
    })
  })
})

describe('a push config', () => {
  it('is that of the task', () => {
    const wire = { id: 't-1', pushNotificationConfig: { url: 'https://h', token: 'k' } }
    expect(decode.getPushConfig(wire, request)).toEqual({ taskId: 't-1', url: 'https://h', token: 'k' })
  })

  it('that was never set is not found', () => {
    for (const pushNotificationConfig of [null, {}]) {
      expect(() => decode.getPushConfig({ id: 't-1', pushNotificationConfig }, request)).toThrow(
        expect.objectContaining({ code: 'task-not-found' }),
      )
    }
  })
})
