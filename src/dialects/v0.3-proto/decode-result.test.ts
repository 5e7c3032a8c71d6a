import { describe, expect, it } from 'vitest'
import type { SendRequest } from '../../protocol/service.ts'
import { v0_3ProtoClient } from './client.ts'

const { decodeResult: decode, decodeEvent } = v0_3ProtoClient

const send: SendRequest = { message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] } }
const address = { taskId: 'T' }
const timestamp = '2025-09-01T08:00:00.000Z'

const task = {
  id: 'T',
  contextId: 'C',
  status: {
    state: 'TASK_STATE_INPUT_REQUIRED',
    timestamp,
    message: { messageId: 'm-2', role: 'ROLE_AGENT', content: [{ text: 'Which?' }] },
  },
  artifacts: [{ artifactId: 'A', parts: [{ file: { fileWithUri: 'https://f' } }, { data: { data: { k: 1 } } }] }],
  history: [{ messageId: 'm-1', role: 'ROLE_USER', content: [{ text: 'hi' }] }],
}

const taskInTheModel = {
  id: 'T',
  contextId: 'C',
  status: {
    state: 'input-required',
    timestamp,
    message: { messageId: 'm-2', role: 'agent', parts: [{ text: 'Which?' }] },
  },
  artifacts: [{ artifactId: 'A', parts: [{ url: 'https://f' }, { data: { k: 1 } }] }],
  history: [{ messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] }],
  generation: 0,
}

/** The same in the objects of JSON-RPC. */
const kindTask = {
  kind: 'task',
  id: 'T',
  contextId: 'C',
  status: {
    state: 'input-required',
    timestamp,
    message: { kind: 'message', messageId: 'm-2', role: 'agent', parts: [{ kind: 'text', text: 'Which?' }] },
  },
  artifacts: [
    {
      artifactId: 'A',
      parts: [
        { kind: 'file', file: { uri: 'https://f' } },
        { kind: 'data', data: { k: 1 } },
      ],
    },
  ],
  history: [{ kind: 'message', messageId: 'm-1', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
}

describe('an answer', () => {
  it('is read in all four styles of 0.3 over REST', () => {
    const snake = { ...task, context_id: 'C', contextId: undefined }
    for (const result of [{ task }, { task: snake }, kindTask, { task: kindTask }]) {
      expect(decode.sendMessage(result, send)).toEqual({ type: 'task', task: taskInTheModel })
    }
    for (const result of [task, kindTask]) expect(decode.getTask(result, address)).toEqual(taskInTheModel)
  })

  it('is read with the names of 0.2', () => {
    const { message, ...status } = task.status
    expect(decode.getTask({ ...task, status: { ...status, update: message } }, address)).toEqual(taskInTheModel)
    expect(decode.sendMessage({ msg: message }, send)).toEqual({
      type: 'message',
      message: taskInTheModel.status.message,
    })
  })

  it('is read although a message says neither its id nor its role', () => {
    expect(decode.sendMessage({ message: { content: [{ text: 'x' }] } }, send)).toEqual({
      type: 'message',
      message: { messageId: '', role: 'agent', parts: [{ text: 'x' }] },
    })
  })

  it('is read with the many words for a state, and a time without a zone', () => {
    const words = {
      TASK_STATE_CANCELED: 'canceled',
      cancelled: 'canceled',
      'Input-Required': 'input-required',
      auth_required: 'auth-required',
      pending: 'submitted',
      running: 'working',
    }
    for (const [state, read] of Object.entries(words)) {
      const status = { state, timestamp: '2025-09-01T08:00:00' }
      expect(decode.getTask({ ...task, status }, address).status).toEqual({ state: read, timestamp })
    }
  })

  it('is read although nobody knows how a task stands', () => {
    for (const status of [{}, { state: 0 }, { state: 'TASK_STATE_UNSPECIFIED' }, { state: 'unknown' }]) {
      expect(decode.getTask({ ...task, status }, address).status).toMatchObject({ state: 'working' })
    }
  })

  it('to a list may be a bare list', () => {
    expect(decode.listTasks([task], {})).toMatchObject({ tasks: [taskInTheModel], totalSize: 1, nextPageToken: '' })
    const config = { taskId: 'T', pushNotificationConfig: { id: 'c', url: 'https://h' } }
    const { configs } = decode.listPushConfigs([config], address)
    expect(configs).toEqual([{ taskId: 'T', id: 'c', url: 'https://h' }])
    expect(decode.listPushConfigs({}, address)).toEqual({ configs: [], nextPageToken: '' })
  })

  it('that is none of 0.3 is refused with the field, what was expected and what came', () => {
    const wrong = { task: { ...task, status: { state: 'asleep' } } }
    expect(() => decode.sendMessage(wrong, send)).toThrow(
      expect.objectContaining({
        code: 'invalid-agent-response',
        message: expect.stringMatching(/^task\.status\.state: expected one of .*, got "TASK_STATE_ASLEEP"$/),
      }),
    )
    expect(() => decode.getPushConfig({ name: 'c' }, address)).toThrow('name: expected a name such as tasks/{id}/')
  })
})

describe('an event', () => {
  const ref = { taskId: 'T', contextId: 'C' }
  const status = { state: 'TASK_STATE_COMPLETED', timestamp }

  it('is the last one if the agent says so', () => {
    const read = { type: 'status', ...ref, status: { state: 'completed', timestamp }, generation: 0 }
    expect(decodeEvent({ statusUpdate: { ...ref, status, final: true } }, send)).toEqual({ ...read, isLast: true })
    expect(decodeEvent({ statusUpdate: { ...ref, status } }, send)).toEqual(read)
    const message = { messageId: 'm', role: 'ROLE_AGENT', content: [] }
    expect(decodeEvent({ message }, send)).toMatchObject({ type: 'message', isLast: true })
  })

  it('may be one of JSON-RPC', () => {
    expect(
      decodeEvent({ kind: 'status-update', ...ref, status: { state: 'completed' }, final: true }, send),
    ).toMatchObject({ type: 'status', status: { state: 'completed' }, isLast: true })
    const artifact = { artifactId: 'A', parts: [{ kind: 'file', file: { bytes: '//77' } }] }
    expect(decodeEvent({ kind: 'artifact-update', ...ref, artifact, append: true }, send)).toMatchObject({
      type: 'artifact',
      artifact: { parts: [{ raw: '//77' }] },
      append: true,
    })
  })
})
