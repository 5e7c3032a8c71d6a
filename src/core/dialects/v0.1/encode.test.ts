import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import type { Artifact, Message, Part, Task, TaskState } from '../../protocol/model.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { encodeEvent, encodeRequest, encodeResult } from './encode.ts'

describe('encodeResult and encodeEvent', () => {
  const timestamp = '2026-05-01T08:00:00.000Z'
  const address = { taskId: 't-1', isAlias: true }
  const send: SendRequest = {
    quirks: { alias: 't-1' },
    message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] },
  }

  const bare: Task = {
    id: 'T',
    contextId: 'C',
    status: { state: 'submitted', timestamp },
    artifacts: [],
    history: [],
    generation: 1,
  }

  const reply: Message = {
    messageId: 'm-2',
    role: 'agent',
    parts: [{ text: 'done' }],
    contextId: 'C',
    taskId: 'T',
    referenceTaskIds: ['R'],
    extensions: ['https://e'],
  }
  const replyOnTheWire = { role: 'agent', parts: [{ type: 'text', text: 'done' }] }

  const artifacts: readonly Artifact[] = [
    { artifactId: 'a', name: 'report.md', description: 'All', parts: [{ text: 'a' }], metadata: { size: 1 } },
    { artifactId: 'b', parts: [{ text: 'b' }], extensions: ['https://e'] },
  ]
  const artifactsOnTheWire = [
    { index: 0, name: 'report.md', description: 'All', parts: [{ type: 'text', text: 'a' }], metadata: { size: 1 } },
    { index: 1, parts: [{ type: 'text', text: 'b' }] },
  ]

  describe('a task', () => {
    it('a task has the id that its caller chose, and its context as the session', () => {
      const task: Task = {
        ...bare,
        status: { state: 'completed', timestamp, message: reply },
        artifacts,
        history: [{ ...reply, metadata: { k: 0 } }],
        metadata: { k: 1 },
        carry: { 'v0.3': { state: 'unknown' } },
      }
      const wire = {
        id: 't-1',
        sessionId: 'C',
        status: { state: 'completed', timestamp, message: replyOnTheWire },
        artifacts: artifactsOnTheWire,
        history: [{ ...replyOnTheWire, metadata: { k: 0 } }],
        metadata: { k: 1 },
      }
      expect(encodeResult.getTask(task, address)).toStrictEqual(wire)
      expect(encodeResult.cancelTask(task, address)).toStrictEqual(wire)
      expect(encodeResult.sendMessage({ type: 'task', task }, send)).toStrictEqual(wire)
    })

    it('empty members of a task are left out', () => {
      expect(encodeResult.getTask(bare, address)).toStrictEqual({
        id: 't-1',
        sessionId: 'C',
        status: { state: 'submitted', timestamp },
      })
    })

    it('a state that 0.1 does not have is replaced, and written into the metadata', () => {
      const wireStates: Record<TaskState, [string, JsonObject?]> = {
        submitted: ['submitted'],
        working: ['working'],
        'input-required': ['input-required'],
        'auth-required': ['input-required', { 'a2a.state': 'TASK_STATE_AUTH_REQUIRED' }],
        completed: ['completed'],
        failed: ['failed'],
        canceled: ['canceled'],
        rejected: ['failed', { 'a2a.state': 'TASK_STATE_REJECTED' }],
        unknown: ['unknown'],
      }
      for (const [state, [wireState, metadata]] of Object.entries(wireStates) as [TaskState, [string, JsonObject?]][]) {
        expect(encodeResult.getTask({ ...bare, status: { state, timestamp } }, address)).toStrictEqual({
          id: 't-1',
          sessionId: 'C',
          status: { state: wireState, timestamp },
          ...(metadata && { metadata }),
        })
      }
    })
  })

  it('a reply without a task is encoded as a completed task with the reply as its artifact', () => {
    expect(encodeResult.sendMessage({ type: 'message', message: reply }, send)).toStrictEqual({
      id: 't-1',
      sessionId: 'C',
      status: { state: 'completed', message: replyOnTheWire },
      artifacts: [{ index: 0, parts: replyOnTheWire.parts }],
    })
  })

  it('a part is text, a file or an object, with other annotations in its metadata', () => {
    const parts: [Part, object][] = [
      [{ text: '' }, { type: 'text', text: '' }],
      [
        { text: 'x', mediaType: 'text/markdown', filename: 'x.md', metadata: { k: 1 } },
        { type: 'text', text: 'x', metadata: { k: 1, 'a2a.mediaType': 'text/markdown', 'a2a.filename': 'x.md' } },
      ],
      [
        { raw: '//77', mediaType: 'image/png', filename: 'a.png' },
        { type: 'file', file: { bytes: '//77', mimeType: 'image/png', name: 'a.png' } },
      ],
      [
        { url: 'https://f', metadata: {} },
        { type: 'file', file: { uri: 'https://f' }, metadata: {} },
      ],
      [{ data: { k: 1 } }, { type: 'data', data: { k: 1 } }],
      [{ data: [1, 2] }, { type: 'data', data: { value: [1, 2] }, metadata: { data_part_compat: true } }],
      [{ data: null }, { type: 'data', data: { value: null }, metadata: { data_part_compat: true } }],
      [
        { data: { file: { name: 'r.pdf' } }, mediaType: 'application/vnd.a2a.file-reference+json' },
        { type: 'file', file: { name: 'r.pdf' } },
      ],
    ]
    for (const [part, wire] of parts) {
      const message: Message = { messageId: 'm', role: 'agent', parts: [part] }
      expect(encodeResult.sendMessage({ type: 'message', message }, send)).toMatchObject({
        artifacts: [{ parts: [wire] }],
      })
    }
  })

  describe('an event', () => {
    const ref = { taskId: 'T', contextId: 'C', generation: 3 }
    const working = { state: 'working', timestamp } as const

    it('a status update is final if no event follows', () => {
      const event: StreamEvent = { type: 'status', status: working, ...ref, metadata: { k: 1 } }
      const wire = { id: 't-1', status: working, metadata: { k: 1 } }
      expect(encodeEvent(event, send)).toStrictEqual([wire])
      expect(encodeEvent(event, address)).toStrictEqual([wire])
      expect(encodeEvent({ ...event, isLast: false }, send)).toStrictEqual([{ ...wire, final: false }])
      expect(encodeEvent({ ...event, isLast: true }, send)).toStrictEqual([{ ...wire, final: true }])
    })

    it('the artifacts of each stream are numbered in their order', () => {
      const event = (artifactId: string, flags: object = {}): StreamEvent => {
        return { type: 'artifact', artifact: { artifactId, parts: [] }, ...flags, ...ref }
      }
      const stream = { ...address }
      const encodeArtifactOf = (artifactId: string, request = stream) => {
        const [wire] = encodeEvent(event(artifactId), request)
        return wire?.artifact
      }
      encodeEvent({ type: 'task', task: { ...bare, artifacts } }, stream)
      expect(['b', 'c', 'a', 'd', 'c'].map((artifactId) => encodeArtifactOf(artifactId))).toMatchObject(
        [1, 2, 0, 3, 2].map((index) => ({ index })),
      )
      expect(encodeArtifactOf('d', { ...address })).toMatchObject({ index: 0 })
      expect(encodeEvent(event('a', { append: true, lastChunk: false, metadata: { k: 1 } }), stream)).toStrictEqual([
        { id: 't-1', artifact: { index: 0, parts: [], append: true, lastChunk: false }, metadata: { k: 1 } },
      ])
    })

    it('a task is encoded as its status and artifacts', () => {
      const task: Task = { ...bare, status: working, artifacts }
      const status = { id: 't-1', status: working }
      const made = artifactsOnTheWire.map((artifact) => ({ id: 't-1', artifact }))
      expect(encodeEvent({ type: 'task', task }, { ...send })).toStrictEqual([status, ...made])
      expect(encodeEvent({ type: 'task', task, isLast: true }, { ...send })).toStrictEqual([
        ...made,
        { ...status, final: true },
      ])
    })

    it('a message is encoded as the status of a completed task', () => {
      expect(encodeEvent({ type: 'message', message: reply, isLast: true }, send)).toStrictEqual([
        { id: 't-1', status: { state: 'completed', message: replyOnTheWire }, final: true },
      ])
    })
  })

  it('a push config has the id of the task, and its scheme in a list', () => {
    const config = { taskId: 'T', id: 'p', url: 'https://h', token: 'k', authentication: { scheme: 'Bearer' } }
    const wire = {
      id: 't-1',
      pushNotificationConfig: { url: 'https://h', token: 'k', authentication: { schemes: ['Bearer'] } },
    }
    expect(encodeResult.getPushConfig(config, address)).toStrictEqual(wire)
    expect(encodeResult.createPushConfig(config, { ...config, ...address })).toStrictEqual(wire)
  })
})

describe('encodeRequest', () => {
  const message: Message = { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }], extensions: ['https://e'] }
  const messageOnTheWire = { role: 'user', parts: [{ type: 'text', text: 'hi' }], extensions: ['https://e'] }

  it('a message continues its task, or else creates one with its own id', () => {
    expect(encodeRequest.sendMessage({ message })).toStrictEqual({ id: 'm-1', message: messageOnTheWire })
    expect(encodeRequest.streamMessage({ message: { ...message, taskId: 'T', contextId: 'C' } })).toStrictEqual({
      id: 'T',
      sessionId: 'C',
      message: messageOnTheWire,
    })
  })

  it('a send has all configuration that 0.1 supports', () => {
    const configuration = {
      acceptedOutputModes: ['text/plain'],
      historyLength: 2,
      returnImmediately: true,
      push: { url: 'https://h', authentication: { scheme: 'Basic', credentials: 'c' } },
    }
    expect(encodeRequest.sendMessage({ message, configuration, metadata: { k: 1 }, tenant: 'acme' })).toStrictEqual({
      id: 'm-1',
      message: messageOnTheWire,
      acceptedOutputModes: ['text/plain'],
      historyLength: 2,
      pushNotification: { url: 'https://h', authentication: { schemes: ['Basic'], credentials: 'c' } },
      metadata: { k: 1 },
    })
  })

  it('operations without a method in 0.1 are rejected', () => {
    for (const encodeAny of [encodeRequest.listTasks, encodeRequest.getExtendedCard]) {
      expect(() => encodeAny({})).toThrow(expect.objectContaining({ code: 'method-not-found' }))
    }
    for (const encodeAny of [encodeRequest.listPushConfigs, encodeRequest.deletePushConfig]) {
      expect(() => encodeAny({ taskId: 'T' })).toThrow(expect.objectContaining({ code: 'method-not-found' }))
    }
  })
})
