import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json.ts'
import { v0_3Client } from './client.ts'
import { v0_3, v0_3Strict } from './server.ts'

const hello = { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] }
const address = { taskId: 'T' }

/** The lenient reading of the params, which a strict server rejects. */
function readLeniently(params: unknown) {
  expect(() => v0_3Strict.decodeRequest.sendMessage(params)).toThrow('expected')
  return v0_3.decodeRequest.sendMessage(params).message
}

function readPart(part: JsonObject) {
  return readLeniently({ message: { kind: 'message', ...hello, parts: [part] } }).parts[0]
}

describe('requests', () => {
  it('a message and its parts may lack a kind', () => {
    expect(readLeniently({ message: hello })).toStrictEqual(hello)
    expect(readPart({ file: { uri: 'https://f' } })).toEqual({ url: 'https://f' })
    expect(readPart({ data: { k: 1 } })).toEqual({ data: { k: 1 } })
  })

  it('a part may have a type instead of a kind', () => {
    expect(readPart({ type: 'text', text: 'hi' })).toEqual({ text: 'hi' })
    expect(readPart({ type: 'file', file: { bytes: 'QQ==' } })).toEqual({ raw: 'QQ==' })
  })

  it('the message id may be beside the message', () => {
    const { messageId, ...message } = hello
    expect(readLeniently({ message, messageId })).toStrictEqual(hello)
  })

  it('the message may be the params', () => {
    expect(readLeniently({ kind: 'message', ...hello, metadata: { k: 1 } })).toStrictEqual({
      ...hello,
      metadata: { k: 1 },
    })
    expect(v0_3.decodeRequest.sendMessage({ ...hello, metadata: { k: 1 } }).metadata).toBeUndefined()
  })

  it('the bytes of a file may be called data', () => {
    expect(readPart({ kind: 'file', file: { data: 'QQ==', name: 'a' } })).toEqual({ raw: 'QQ==', filename: 'a' })
  })

  it('data may be a list, which is written as a list again', () => {
    const part = { kind: 'data', data: [1], metadata: { k: 1 } }
    const params = { message: { kind: 'message', ...hello, parts: [part] } }
    expect(readPart(part)).toMatchObject({ data: [1], metadata: { k: 1 } })
    expect(v0_3Client.encodeRequest.streamMessage(v0_3.decodeRequest.streamMessage(params))).toEqual(params)
  })

  it('other data, and a part of an unknown kind, is rejected', () => {
    const parts: readonly [JsonObject, string][] = [
      [{ kind: 'data', data: 7 }, 'message.parts[0].data: expected an object, got a number'],
      [{ kind: 'data', data: null }, 'message.parts[0].data: expected an object, got null'],
      [{ kind: 'tool-use', tool: 'search' }, 'message.parts[0]: expected "kind" to be one of text, file, data'],
      [{ kind: 'video', text: 'x' }, 'got "video"'],
    ]
    for (const [part, problem] of parts) expect(() => readPart(part)).toThrow(problem)
  })

  it('empty ids count as absent', () => {
    expect(readLeniently({ message: { kind: 'message', ...hello, contextId: '', taskId: '' } })).toEqual(hello)
  })

  it('the role of the agent is read as that of the user', () => {
    expect(readLeniently({ message: { ...hello, kind: 'message', role: 'agent' } }).role).toBe('user')
  })

  it('the id of a task may be called taskId', () => {
    for (const operation of ['getTask', 'cancelTask', 'subscribeToTask'] as const) {
      expect(v0_3.decodeRequest[operation]({ taskId: 'T' })).toMatchObject({ taskId: 'T' })
      expect(() => v0_3Strict.decodeRequest[operation]({ taskId: 'T' })).toThrow('id: expected')
    }
  })
})

describe('results and events', () => {
  const status = { state: 'working', timestamp: '2026-05-01T08:00:00Z' }
  const bare = { id: 'T', contextId: 'C', status }
  const { decodeResult, decodeEvent } = v0_3Client
  const send = { message: { messageId: 'm', role: 'user' as const, parts: [] } }

  it('a result may lack a kind', () => {
    expect(decodeResult.getTask(bare, address)).toMatchObject({ id: 'T', status: { state: 'working' } })
    expect(decodeResult.sendMessage(bare, send)).toMatchObject({ type: 'task', task: { id: 'T' } })
    expect(decodeResult.sendMessage(hello, send)).toEqual({ type: 'message', message: hello })
    expect(decodeResult.listTasks({ tasks: [bare], nextPageToken: '', pageSize: 1, totalSize: 1 }, {})).toMatchObject({
      tasks: [{ id: 'T' }],
    })
  })

  it('a timestamp that cannot be converted to a text is a violation', () => {
    for (const timestamp of [{ toString: false }, [{ toString: false }]]) {
      const task = { ...bare, status: { ...status, timestamp } }
      expect(() => decodeResult.getTask(task, address)).toThrow('status.timestamp: expected')
    }
  })

  it('an event may lack a kind and final', () => {
    const ref = { taskId: 'T', contextId: 'C' }
    const artifact = { artifactId: 'A', parts: [{ type: 'text', text: 'a' }] }
    expect(decodeEvent({ ...ref, status }, send)).toMatchObject({ type: 'status', ...ref, isLast: false })
    expect(decodeEvent({ ...ref, artifact }, send)).toMatchObject({
      type: 'artifact',
      artifact: { parts: [{ text: 'a' }] },
    })
    expect(decodeEvent(bare, send)).toMatchObject({ type: 'task' })
    expect(decodeEvent(hello, send)).toMatchObject({ type: 'message', isLast: true })
  })

  it('a status message may lack its role and id', () => {
    const { parts } = hello
    const task = decodeResult.getTask({ ...bare, status: { ...status, message: { parts } } }, address)
    expect(task.status.message).toEqual({ role: 'agent', messageId: 'status-2026-05-01T08:00:00Z', parts })
    expect(decodeResult.sendMessage({ kind: 'message', messageId: 'm', parts }, send)).toMatchObject({
      message: { role: 'agent' },
    })
  })

  it('parts of agents may have any kind and data, and are written as they were', () => {
    const metadata = { 'a2a.mediaType': 'application/vnd.a2a.unknown-part+json' }
    const labelled = { kind: 'data', data: { kind: 'tool-use', tool: 'search' }, metadata }
    const unknown = { kind: 'tool-use', tool: 'search', metadata: { k: 1 } }
    const named = { ...labelled, metadata: { ...metadata, 'a2a.filename': 'x.json' } }
    const list = { kind: 'data', data: [1], metadata: { k: 1 } }
    // A list of parts that is valid as it is; the others are cleaned.
    for (const parts of [[labelled, unknown], [labelled], [named], [unknown, list]]) {
      const wire = { kind: 'message', messageId: 'm-1', role: 'agent', parts }
      const outcome = decodeResult.sendMessage(wire, send)
      expect(v0_3.encodeResult.sendMessage(outcome, send)).toEqual(wire)
    }
    const seven = { kind: 'message', messageId: 'm-1', role: 'agent', parts: [{ kind: 'data', data: 7 }, unknown] }
    expect(decodeResult.sendMessage(seven, send)).toMatchObject({
      message: { parts: [{ data: 7 }, { data: unknown, mediaType: 'application/vnd.a2a.unknown-part+json' }] },
    })
  })

  it('other spellings of a state are accepted', () => {
    const states = {
      cancelled: 'canceled',
      input_required: 'input-required',
      Completed: 'completed',
      PENDING: 'submitted',
      running: 'working',
      pondering: 'working',
    }
    for (const [spelling, state] of Object.entries(states)) {
      expect(decodeResult.getTask({ ...bare, status: { state: spelling } }, address).status.state).toBe(state)
    }
  })

  it('a list that is null is empty', () => {
    const page = { tasks: [], nextPageToken: '', pageSize: 0, totalSize: 0, withArtifacts: false }
    for (const result of [null, {}, { tasks: null, nextPageToken: null }]) {
      expect(decodeResult.listTasks(result, {})).toEqual(page)
    }
    for (const result of [null, {}, { configs: null }, []]) {
      expect(decodeResult.listPushConfigs(result, address)).toEqual({ configs: [], nextPageToken: '' })
    }
  })

  it('any other result is rejected', () => {
    for (const result of [null, 'text', {}, { status: {} }]) {
      expect(() => decodeResult.sendMessage(result, send)).toThrow('expected')
      expect(() => decodeEvent(result, send)).toThrow('expected')
    }
  })
})
