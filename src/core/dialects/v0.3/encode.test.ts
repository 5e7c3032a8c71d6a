import { describe, expect, it } from 'vitest'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Message, Task } from '../../protocol/model.ts'
import { encodeResult as encode, encodeEvent, encodeRequest } from './encode.ts'

const timestamp = '2025-09-01T08:00:00.000Z'
const reply: Message = { messageId: 'm-2', role: 'agent', parts: [{ text: 'done' }], contextId: 'C', taskId: 'T' }
const bare: Task = {
  id: 'T',
  contextId: 'C',
  status: { state: 'submitted', timestamp },
  artifacts: [],
  history: [],
  generation: 1,
}
const full: Task = {
  ...bare,
  status: { state: 'auth-required', timestamp, message: { ...reply, carry: { other: 1 } } },
  artifacts: [{ artifactId: 'A', name: 'a.md', parts: [{ text: 'a', carry: { other: 1 } }], carry: { other: 1 } }],
  history: [{ messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] }],
  metadata: { k: 1 },
  carry: { other: 1 },
}

const replyOnTheWire = {
  kind: 'message',
  messageId: 'm-2',
  role: 'agent',
  parts: [{ kind: 'text', text: 'done' }],
  contextId: 'C',
  taskId: 'T',
}
const bareOnTheWire = { kind: 'task', id: 'T', contextId: 'C', status: { state: 'submitted', timestamp } }

describe('a task', () => {
  it('a task is encoded with all its members, but without internal ones', () => {
    expect(encode.getTask(full)).toStrictEqual({
      kind: 'task',
      id: 'T',
      contextId: 'C',
      status: { state: 'auth-required', timestamp, message: replyOnTheWire },
      artifacts: [{ artifactId: 'A', name: 'a.md', parts: [{ kind: 'text', text: 'a' }] }],
      history: [{ kind: 'message', messageId: 'm-1', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
      metadata: { k: 1 },
    })
  })

  it('empty members of a task are left out', () => {
    expect(encode.cancelTask(bare)).toStrictEqual(bareOnTheWire)
  })

  it('a page of tasks has its token and sizes', () => {
    const page = { nextPageToken: '', pageSize: 50, totalSize: 1 }
    expect(encode.listTasks({ ...page, tasks: [bare], withArtifacts: false })).toStrictEqual({
      ...page,
      tasks: [bareOnTheWire],
    })
  })
})

it('kind is the first member of a result or an event', () => {
  const ref = { taskId: 'T', contextId: 'C', generation: 2 }
  const events: StreamEvent[] = [
    { type: 'task', task: full },
    { type: 'message', message: reply },
    { type: 'status', status: full.status, ...ref },
    { type: 'artifact', artifact: { artifactId: 'A', parts: [{ text: 'a' }] }, ...ref },
  ]
  const firstMembers = events.flatMap((event) => encodeEvent(event)).map((wire) => Object.entries(wire)[0])
  expect(firstMembers).toEqual([
    ['kind', 'task'],
    ['kind', 'message'],
    ['kind', 'status-update'],
    ['kind', 'artifact-update'],
  ])
  expect(Object.keys(encode.sendMessage({ type: 'message', message: reply }))[0]).toBe('kind')
})

describe('encodeEvent', () => {
  const ref = { taskId: 'T', contextId: 'C', generation: 3 }

  it('an event is a task, a message or an update', () => {
    const artifact = { artifactId: 'A', parts: [{ text: 'a' }] }
    const artifactOnTheWire = { artifactId: 'A', parts: [{ kind: 'text', text: 'a' }] }
    const events: [StreamEvent, object][] = [
      [{ type: 'task', task: bare }, bareOnTheWire],
      [{ type: 'message', message: reply, isLast: true }, replyOnTheWire],
      [
        { type: 'status', status: { state: 'working', timestamp }, ...ref },
        { kind: 'status-update', taskId: 'T', contextId: 'C', status: { state: 'working', timestamp }, final: false },
      ],
      [
        { type: 'artifact', artifact, append: false, lastChunk: true, metadata: { n: 1 }, ...ref },
        {
          kind: 'artifact-update',
          taskId: 'T',
          contextId: 'C',
          artifact: artifactOnTheWire,
          append: false,
          lastChunk: true,
          metadata: { n: 1 },
        },
      ],
    ]
    for (const [event, wire] of events) expect(encodeEvent(event)).toStrictEqual([wire])
  })

  it('an event is final if and only if no event follows', () => {
    for (const isLast of [true, false]) {
      const event: StreamEvent = { type: 'status', status: { state: 'completed', timestamp }, isLast, ...ref }
      expect(encodeEvent(event)).toMatchObject([{ final: isLast }])
    }
  })
})

describe('push configs', () => {
  const config = { taskId: 'T', id: 'c', url: 'https://h', tenant: 'x' }
  const onTheWire = { taskId: 'T', pushNotificationConfig: { id: 'c', url: 'https://h' } }

  it('push configs are a list, and the result of a deletion is null', () => {
    expect(encode.listPushConfigs({ configs: [config], nextPageToken: '' })).toEqual([onTheWire])
    expect(encode.deletePushConfig()).toBeNull()
  })
})

describe('encodeRequest', () => {
  const message: Message = { messageId: 'm', role: 'user', parts: [{ text: 'hi' }] }

  it('a send always has blocking, since agents disagree on the default', () => {
    expect(encodeRequest.sendMessage({ message }).configuration).toStrictEqual({
      acceptedOutputModes: [],
      blocking: true,
    })
    expect(encodeRequest.sendMessage({ message, configuration: { historyLength: 0 } }).configuration).toStrictEqual({
      acceptedOutputModes: [],
      blocking: true,
      historyLength: 0,
    })
    const configuration = { returnImmediately: true }
    expect(encodeRequest.sendMessage({ message, configuration }).configuration).toStrictEqual({
      acceptedOutputModes: [],
      blocking: false,
    })
  })

  it('a stream has no blocking, since it never waits', () => {
    expect(encodeRequest.streamMessage({ message }).configuration).toStrictEqual({ acceptedOutputModes: [] })
  })

  it('a request has no members of other dialects', () => {
    expect(encodeRequest.getTask({ taskId: 'T', tenant: 'x', isAlias: true })).toStrictEqual({ id: 'T' })
    expect(encodeRequest.subscribeToTask({ taskId: 'T', after: 3, includeEnded: true })).toStrictEqual({ id: 'T' })
    expect(encodeRequest.getExtendedCard({ tenant: 'x' })).toStrictEqual({})
  })
})
