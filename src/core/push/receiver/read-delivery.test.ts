import { describe, expect, it } from 'vitest'
import { readPayload } from './read-delivery.ts'

const timestamp = '2026-01-01T00:00:00.000Z'
const part = { kind: 'text', text: 'hi' }

/** Dialect, type, task id, state or parts, and whether the event is the last. */
async function read(wire: unknown): Promise<unknown[]> {
  const { dialect, event } = await readPayload(wire)
  switch (event.type) {
    case 'task':
      return [dialect, 'task', event.task.id, event.task.status.state, event.isLast]
    case 'status':
      return [dialect, 'status', event.taskId, event.status.state, event.isLast]
    case 'artifact':
      return [dialect, 'artifact', event.taskId, event.artifact.parts]
    case 'message':
      return [dialect, 'message', event.message.taskId, event.message.parts]
  }
}

describe('readPayload', () => {
  it('a 1.0 payload is a stream response', async () => {
    const status = { state: 'TASK_STATE_COMPLETED', timestamp }
    const ref = { taskId: 'T', contextId: 'C' }
    expect(await read({ statusUpdate: { ...ref, status } })).toEqual(['v1.0', 'status', 'T', 'completed', true])
    expect(await read({ task: { id: 'T', contextId: 'C', status } })).toEqual(['v1.0', 'task', 'T', 'completed', true])
    const artifact = { artifactId: 'a', parts: [{ text: 'hi' }] }
    expect(await read({ artifactUpdate: { ...ref, artifact } })).toEqual(['v1.0', 'artifact', 'T', [{ text: 'hi' }]])
    const message = { messageId: 'm', role: 'ROLE_AGENT', parts: [{ text: 'hi' }], taskId: 'T' }
    expect(await read({ message })).toEqual(['v1.0', 'message', 'T', [{ text: 'hi' }]])
  })

  it('a 0.2 or 0.3 payload is a bare task or event with a kind', async () => {
    const status = { state: 'working', timestamp }
    expect(await read({ kind: 'task', id: 'T', contextId: 'C', status })).toEqual([
      'v0.3',
      'task',
      'T',
      'working',
      false,
    ])
    expect(await read({ id: 'T', contextId: 'C', status })).toEqual(['v0.3', 'task', 'T', 'working', false])
    const ref = { taskId: 'T', contextId: 'C' }
    const update = { kind: 'status-update', ...ref, status: { state: 'failed', timestamp }, final: true }
    expect(await read(update)).toEqual(['v0.3', 'status', 'T', 'failed', true])
    const artifact = { artifactId: 'a', parts: [part] }
    expect(await read({ kind: 'artifact-update', ...ref, artifact })).toEqual([
      'v0.3',
      'artifact',
      'T',
      [{ text: 'hi' }],
    ])
    const message = { kind: 'message', messageId: 'm', role: 'agent', parts: [part], ...ref }
    expect(await read(message)).toEqual(['v0.3', 'message', 'T', [{ text: 'hi' }]])
  })

  it('a 0.3 payload may be in ProtoJSON form', async () => {
    const status = { state: 'TASK_STATE_CANCELLED', timestamp }
    const update = { taskId: 'T', contextId: 'C', status, final: true }
    expect(await read({ statusUpdate: update })).toEqual(['v0.3-proto', 'status', 'T', 'canceled', true])
  })

  it('a 0.1 payload is a status, an artifact or a task, in any form', async () => {
    const status = { state: 'completed', timestamp }
    expect(await read({ id: 't', status, final: true })).toEqual(['v0.1', 'status', 't', 'completed', true])
    const update = { eventType: 'taskUpdate', taskId: 't', id: 't', status }
    expect((await read(update)).slice(0, 4)).toEqual(['v0.1', 'status', 't', 'completed'])
    expect((await read({ taskId: 't', status })).slice(0, 4)).toEqual(['v0.1', 'status', 't', 'completed'])
    const artifact = { parts: [{ type: 'text', text: 'hi' }], index: 0 }
    expect(await read({ id: 't', artifact })).toEqual(['v0.1', 'artifact', 't', [{ text: 'hi' }]])
    const task = { id: 't', sessionId: 's', status, artifacts: [artifact] }
    expect(await read(task)).toEqual(['v0.1', 'task', 't', 'completed', true])
  })

  it('an invalid payload is refused with the reason', async () => {
    await expect(readPayload(null)).rejects.toThrow('must be a JSON object, not null')
    await expect(readPayload([])).rejects.toThrow('must be a JSON object, not a list')
    await expect(readPayload({ hello: 1 })).rejects.toThrow('not an A2A event: expected a task, or one of')
    await expect(readPayload({ kind: 'other' })).rejects.toThrow('kind')
    await expect(readPayload({ statusUpdate: { taskId: 'T', contextId: 'C' } })).rejects.toThrow('status')
    await expect(readPayload({ kind: 'task', id: 1 })).rejects.toThrow('id')
  })
})
