import { describe, expect, it } from 'vitest'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Message, Part, Task } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { v0_3ProtoClient } from './client.ts'
import { encodeRequest as encodeNewestProto } from './encode.ts'
import { v0_3Proto } from './server.ts'

const { encodeResult: encode, encodeEvent } = v0_3Proto
const { encodeRequest } = v0_3ProtoClient

const timestamp = '2025-09-01T08:00:00.000Z'
const message: Message = { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] }
const send: SendRequest = { message }
const task: Task = {
  id: 'T',
  contextId: 'C',
  status: { state: 'canceled', timestamp },
  artifacts: [{ artifactId: 'A', parts: [{ text: 'a' }] }],
  history: [message],
  generation: 7,
}
const taskOnTheWire = {
  id: 'T',
  contextId: 'C',
  status: { state: 'TASK_STATE_CANCELLED', timestamp },
  artifacts: [{ artifactId: 'A', parts: [{ text: 'a' }] }],
  history: [{ messageId: 'm-1', role: 'ROLE_USER', content: [{ text: 'hi' }] }],
}

it('a task is bare as the result of getTask, and wrapped as the result of sendMessage', () => {
  expect(encode.getTask(task, { taskId: 'T' })).toStrictEqual(taskOnTheWire)
  expect(encode.sendMessage({ type: 'task', task }, send)).toStrictEqual({ task: taskOnTheWire })
  expect(encode.sendMessage({ type: 'message', message }, send)).toStrictEqual({ message: taskOnTheWire.history[0] })
})

it('a page of tasks always has its four members', () => {
  const page = { nextPageToken: '', pageSize: 50, totalSize: 0 }
  expect(encode.listTasks({ ...page, tasks: [], withArtifacts: false }, {})).toStrictEqual({ tasks: [], ...page })
})

it('a part has annotations without a member in its metadata', () => {
  const parts: readonly [Part, object][] = [
    [
      { text: 'x', mediaType: 'text/markdown' },
      { text: 'x', metadata: { 'a2a.mediaType': 'text/markdown' } },
    ],
    [{ data: { k: 1 } }, { data: { data: { k: 1 } } }],
    [{ data: [1, 2] }, { data: { data: { value: [1, 2] } }, metadata: { data_part_compat: true } }],
    [
      { data: null, filename: 'n.json', metadata: { k: 1 } },
      { data: { data: { value: null } }, metadata: { k: 1, 'a2a.filename': 'n.json', data_part_compat: true } },
    ],
    [
      { raw: '//77', mediaType: 'image/png', filename: 'a.png' },
      { file: { fileWithBytes: '//77', mimeType: 'image/png', name: 'a.png' } },
    ],
    [{ url: 'https://f', carry: { 'v0.1': {} } }, { file: { fileWithUri: 'https://f' } }],
  ]
  for (const [part, wire] of parts) {
    expect(encodeNewestProto.streamMessage({ message: { ...message, parts: [part] } })).toEqual({
      message: { ...taskOnTheWire.history[0], content: [wire] },
    })
  }
})

it('a message has its references in its metadata', () => {
  const referring = { ...message, referenceTaskIds: ['R'], metadata: { k: 1 } }
  expect(encodeRequest.streamMessage({ message: referring })).toMatchObject({
    message: { metadata: { k: 1, 'a2a.referenceTaskIds': ['R'] } },
  })
})

describe('encodeEvent', () => {
  const ref = { taskId: 'T', contextId: 'C', generation: 3 }

  it('an event is wrapped by its kind, and marked if it is final', () => {
    const status = { state: 'working', timestamp } as const
    const artifact = { artifactId: 'A', parts: [{ text: 'a' }] }
    const where = { taskId: 'T', contextId: 'C' }
    const events: [StreamEvent, object][] = [
      [{ type: 'task', task }, { task: taskOnTheWire }],
      [
        { type: 'status', status, ...ref },
        { statusUpdate: { ...where, status: { state: 'TASK_STATE_WORKING', timestamp } } },
      ],
      [
        { type: 'status', status, metadata: { k: 1 }, isLast: true, ...ref },
        {
          statusUpdate: {
            ...where,
            status: { state: 'TASK_STATE_WORKING', timestamp },
            metadata: { k: 1 },
            final: true,
          },
        },
      ],
      [
        { type: 'artifact', artifact, append: true, lastChunk: false, ...ref },
        { artifactUpdate: { ...where, artifact, append: true } },
      ],
    ]
    for (const [event, wire] of events) expect(encodeEvent(event, send)).toStrictEqual([wire])
  })
})

describe('a push config', () => {
  const config = { taskId: 'T', id: 'c', url: 'https://h', authentication: { scheme: 'Bearer' } }
  const inner = { id: 'c', url: 'https://h', authentication: { schemes: ['Bearer'] } }
  const name = 'tasks/T/pushNotificationConfigs/c'

  it('a push config has a resource name', () => {
    expect(encode.getPushConfig(config, config)).toStrictEqual({ name, pushNotificationConfig: inner })
    expect(encode.listPushConfigs({ configs: [config], nextPageToken: '' }, config)).toStrictEqual({
      configs: [{ name, pushNotificationConfig: inner }],
    })
    expect(encode.deletePushConfig(undefined, config)).toStrictEqual({})
  })

  it('a new push config has its task as the parent', () => {
    expect(encodeRequest.createPushConfig(config)).toStrictEqual({
      parent: 'tasks/T',
      configId: 'c',
      config: { name, pushNotificationConfig: inner },
    })
  })

  it('a push config without an id has that of its task', () => {
    expect(encodeRequest.getPushConfig({ taskId: 'T' })).toStrictEqual({ name: 'tasks/T/pushNotificationConfigs/T' })
  })

  it('a push config that was created without ids is returned with one', () => {
    const created = v0_3Proto.decodeRequest.createPushConfig({
      parent: 'tasks/T',
      config: { pushNotificationConfig: { url: 'https://h' } },
    })
    expect(encode.createPushConfig(created, created)).toStrictEqual({
      name: 'tasks/T/pushNotificationConfigs/T',
      pushNotificationConfig: { url: 'https://h', id: 'T' },
    })
  })
})

it('a send always has blocking, unless it was received without', () => {
  expect(encodeRequest.sendMessage(send)).toMatchObject({ configuration: { blocking: true } })
  expect(encodeRequest.sendMessage({ message, configuration: { returnImmediately: true } })).toMatchObject({
    configuration: {},
  })
  expect(encodeRequest.streamMessage(send)).not.toHaveProperty('configuration')
  const received = v0_3Proto.decodeRequest.sendMessage({ message: taskOnTheWire.history[0] })
  expect(encodeRequest.sendMessage(received)).not.toHaveProperty('configuration')
})
