import { describe, expect, it } from 'vitest'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Message, Part, Task, TaskState } from '../../protocol/model.ts'
import { encodeResult as encode, encodeEvent } from './encode.ts'
import { decodeRequest as decode } from './requests.ts'

const timestamp = '2026-05-01T08:00:00.000Z'

const bare: Task = {
  id: 'T',
  contextId: 'C',
  status: { state: 'submitted', timestamp },
  artifacts: [],
  history: [],
  generation: 1,
}

const reply: Message = { messageId: 'm-2', role: 'agent', parts: [{ text: 'done' }], contextId: 'C', taskId: 'T' }

const full: Task = {
  ...bare,
  status: { state: 'input-required', timestamp, message: { ...reply, carry: { kind: 'message' } } },
  artifacts: [
    {
      artifactId: 'A',
      name: 'report.md',
      description: 'All of it',
      parts: [{ text: 'a', carry: { kind: 'text' } }],
      extensions: ['https://example.com/ext'],
      metadata: { size: 1 },
      carry: { index: 0 },
    },
  ],
  history: [{ messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }], referenceTaskIds: ['R'], metadata: { k: 0 } }],
  metadata: { empty: {} },
  carry: { sessionId: 's' },
  generation: 7,
}

const fullOnTheWire = {
  id: 'T',
  contextId: 'C',
  status: {
    state: 'TASK_STATE_INPUT_REQUIRED',
    timestamp,
    message: { messageId: 'm-2', role: 'ROLE_AGENT', parts: [{ text: 'done' }], contextId: 'C', taskId: 'T' },
  },
  artifacts: [
    {
      artifactId: 'A',
      name: 'report.md',
      description: 'All of it',
      parts: [{ text: 'a' }],
      extensions: ['https://example.com/ext'],
      metadata: { size: 1 },
    },
  ],
  history: [
    { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }], referenceTaskIds: ['R'], metadata: { k: 0 } },
  ],
  metadata: { empty: {} },
}

const bareOnTheWire = { id: 'T', contextId: 'C', status: { state: 'TASK_STATE_SUBMITTED', timestamp } }

describe('a task', () => {
  it('a task is encoded with all its members, but without internal ones', () => {
    expect(encode.getTask(full)).toStrictEqual(fullOnTheWire)
    expect(encode.cancelTask(full)).toStrictEqual(fullOnTheWire)
  })

  it('empty members of a task are left out', () => {
    expect(encode.getTask(bare)).toStrictEqual(bareOnTheWire)
  })

  it('every state has its name', () => {
    const names: Record<Exclude<TaskState, 'unknown'>, string> = {
      submitted: 'TASK_STATE_SUBMITTED',
      working: 'TASK_STATE_WORKING',
      'input-required': 'TASK_STATE_INPUT_REQUIRED',
      'auth-required': 'TASK_STATE_AUTH_REQUIRED',
      completed: 'TASK_STATE_COMPLETED',
      failed: 'TASK_STATE_FAILED',
      canceled: 'TASK_STATE_CANCELED',
      rejected: 'TASK_STATE_REJECTED',
    }
    for (const [state, name] of Object.entries(names) as [TaskState, string][]) {
      expect(encode.getTask({ ...bare, status: { state, timestamp } })).toMatchObject({ status: { state: name } })
      expect(decode.listTasks({ status: name })).toMatchObject({ state })
    }
  })
})

describe('the result of a send', () => {
  it('a send result is a task or a message, by its member', () => {
    expect(encode.sendMessage({ type: 'task', task: bare })).toStrictEqual({ task: bareOnTheWire })
    expect(encode.sendMessage({ type: 'message', message: reply })).toStrictEqual({
      message: fullOnTheWire.status.message,
    })
  })
})

describe('a part', () => {
  it('a part is decoded as it was encoded', () => {
    const parts: Part[] = [
      { text: '' },
      { text: 'x', mediaType: 'text/markdown' },
      { raw: '//77', mediaType: 'image/png', filename: 'a.png' },
      { raw: '' },
      { url: 'https://example.com/a', metadata: { a: [1] } },
      { data: null },
      { data: [1, 2] },
      { data: { value: 1 } },
    ]
    const message: Message = { messageId: 'm', role: 'user', parts, extensions: ['e'], metadata: {} }
    const wire = encode.sendMessage({ type: 'message', message })
    expect(decode.sendMessage(JSON.parse(JSON.stringify(wire)))).toStrictEqual({ message })
  })
})

describe('a page of tasks', () => {
  const page = { nextPageToken: '', pageSize: 50, totalSize: 0 }

  it('a page of tasks always has its four members', () => {
    expect(encode.listTasks({ ...page, tasks: [], withArtifacts: false })).toStrictEqual({ tasks: [], ...page })
  })

  it('a listed task has artifacts if and only if they were requested', () => {
    const tasks = [bare, full]
    const { artifacts, ...withoutArtifacts } = fullOnTheWire
    expect(encode.listTasks({ ...page, tasks, withArtifacts: false })).toStrictEqual({
      ...page,
      tasks: [bareOnTheWire, withoutArtifacts],
    })
    expect(encode.listTasks({ ...page, tasks, withArtifacts: true })).toStrictEqual({
      ...page,
      tasks: [
        { ...bareOnTheWire, artifacts: [] },
        { ...withoutArtifacts, artifacts },
      ],
    })
  })
})

describe('an event', () => {
  const ref = { taskId: 'T', contextId: 'C', generation: 3 }

  it('an event is wrapped by its kind', () => {
    const events: [StreamEvent, object][] = [
      [{ type: 'task', task: bare }, { task: bareOnTheWire }],
      [{ type: 'message', message: reply }, { message: fullOnTheWire.status.message }],
      [
        { type: 'status', status: { state: 'working', timestamp }, ...ref },
        { statusUpdate: { taskId: 'T', contextId: 'C', status: { state: 'TASK_STATE_WORKING', timestamp } } },
      ],
      [
        { type: 'artifact', artifact: { artifactId: 'A', parts: [{ text: 'a' }] }, lastChunk: true, ...ref },
        {
          artifactUpdate: {
            taskId: 'T',
            contextId: 'C',
            artifact: { artifactId: 'A', parts: [{ text: 'a' }] },
            lastChunk: true,
          },
        },
      ],
    ]
    for (const [event, wire] of events) expect(encodeEvent(event)).toStrictEqual([wire])
  })

  it('an event has only flags that are true', () => {
    const artifact = { artifactId: 'A', parts: [{ text: 'a' }] }
    const event: StreamEvent = {
      type: 'artifact',
      artifact,
      append: true,
      lastChunk: false,
      metadata: { n: 1 },
      ...ref,
    }
    expect(encodeEvent(event)[0]).toStrictEqual({
      artifactUpdate: { taskId: 'T', contextId: 'C', artifact, append: true, metadata: { n: 1 } },
    })
  })
})

describe('a push config', () => {
  const config = { taskId: 'T', id: 'p', url: 'https://h', token: 'k', authentication: { scheme: 'Bearer' } }

  it('a push config is decoded as it was encoded', () => {
    for (const pushConfig of [
      config,
      { ...config, tenant: 'a', authentication: { scheme: 'Basic', credentials: 'c' } },
    ]) {
      expect(decode.createPushConfig(encode.getPushConfig(pushConfig))).toStrictEqual(pushConfig)
      expect(decode.createPushConfig(encode.createPushConfig(pushConfig))).toStrictEqual(pushConfig)
    }
  })

  it('an empty last page of push configs is an empty object', () => {
    expect(encode.listPushConfigs({ configs: [config], nextPageToken: 'n' })).toStrictEqual({
      configs: [config],
      nextPageToken: 'n',
    })
    expect(encode.listPushConfigs({ configs: [], nextPageToken: '' })).toStrictEqual({})
  })

  it('the result of a deletion is an empty object', () => {
    expect(encode.deletePushConfig()).toStrictEqual({})
  })
})
