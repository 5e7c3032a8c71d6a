import { describe, expect, it } from 'vitest'
import type { JsonObject } from '../../base/json.ts'
import { v0_3Client } from './client.ts'
import { v0_3, v0_3Strict } from './server.ts'

const hello = { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] }
const address = { taskId: 'T' }

/** What the caller meant; a strict server refuses it. */
function readLeniently(params: unknown) {
  expect(() => v0_3Strict.decodeRequest.sendMessage(params)).toThrow('expected')
  return v0_3.decodeRequest.sendMessage(params).message
}

function readPart(part: JsonObject) {
  return readLeniently({ message: { kind: 'message', ...hello, parts: [part] } }).parts[0]
}

describe('a caller may', () => {
  it('leave out what a message and its parts are', () => {
    expect(readLeniently({ message: hello })).toStrictEqual(hello)
    expect(readPart({ file: { uri: 'https://f' } })).toEqual({ url: 'https://f' })
    expect(readPart({ data: { k: 1 } })).toEqual({ data: { k: 1 } })
  })

  it('say by type what a part is', () => {
    expect(readPart({ type: 'text', text: 'hi' })).toEqual({ text: 'hi' })
    expect(readPart({ type: 'file', file: { bytes: 'QQ==' } })).toEqual({ raw: 'QQ==' })
  })

  it('put the id of the message beside it', () => {
    const { messageId, ...message } = hello
    expect(readLeniently({ message, messageId })).toStrictEqual(hello)
  })

  it('send the message as params', () => {
    expect(readLeniently({ kind: 'message', ...hello, metadata: { k: 1 } })).toStrictEqual({
      ...hello,
      metadata: { k: 1 },
    })
    expect(v0_3.decodeRequest.sendMessage({ ...hello, metadata: { k: 1 } }).metadata).toBeUndefined()
  })

  it('call the bytes of a file data', () => {
    expect(readPart({ kind: 'file', file: { data: 'QQ==', name: 'a' } })).toEqual({ raw: 'QQ==', filename: 'a' })
  })

  it('send data that is no object', () => {
    expect(readPart({ kind: 'data', data: [1], metadata: { k: 1 } })).toEqual({ data: [1], metadata: { k: 1 } })
    expect(readPart({ kind: 'data', data: 7 })).toEqual({ data: 7 })
  })

  it('send a part of another kind, which comes back as it went', () => {
    const part = { kind: 'tool-use', tool: 'search', metadata: { k: 1 } }
    const params = { message: { kind: 'message', ...hello, parts: [part] } }
    expect(readPart(part)).toEqual({ data: part, mediaType: 'application/vnd.a2a.unknown-part+json' })
    expect(v0_3Client.encodeRequest.streamMessage(v0_3.decodeRequest.streamMessage(params))).toEqual(params)
  })

  it('send data that is labelled as such a part, which stays data', () => {
    const metadata = { 'a2a.mediaType': 'application/vnd.a2a.unknown-part+json' }
    const labelled = { kind: 'data', data: { kind: 'tool-use', tool: 'search' }, metadata }
    // The second is read as it stands, the first is not.
    for (const parts of [[labelled, { kind: 'tool-use', tool: 'search' }], [labelled]]) {
      const params = { message: { kind: 'message', ...hello, parts } }
      expect(v0_3Client.encodeRequest.streamMessage(v0_3.decodeRequest.streamMessage(params))).toEqual(params)
    }
    const named = { ...labelled, metadata: { ...metadata, 'a2a.filename': 'x.json' } }
    const params = { message: { kind: 'message', ...hello, parts: [named] } }
    expect(v0_3Client.encodeRequest.streamMessage(v0_3.decodeRequest.streamMessage(params))).toEqual(params)
  })

  it('have empty ids for none', () => {
    expect(readLeniently({ message: { kind: 'message', ...hello, contextId: '', taskId: '' } })).toEqual(hello)
  })

  it('be an agent, and speaks as the user of this one', () => {
    expect(readLeniently({ message: { ...hello, kind: 'message', role: 'agent' } }).role).toBe('user')
  })

  it('call the id of a task taskId', () => {
    for (const operation of ['getTask', 'cancelTask', 'subscribeToTask'] as const) {
      expect(v0_3.decodeRequest[operation]({ taskId: 'T' })).toMatchObject({ taskId: 'T' })
      expect(() => v0_3Strict.decodeRequest[operation]({ taskId: 'T' })).toThrow('id: expected')
    }
  })
})

describe('an agent may', () => {
  const status = { state: 'working', timestamp: '2026-05-01T08:00:00Z' }
  const bare = { id: 'T', contextId: 'C', status }
  const { decodeResult, decodeEvent } = v0_3Client
  const send = { message: { messageId: 'm', role: 'user' as const, parts: [] } }

  it('leave out what its answer is', () => {
    expect(decodeResult.getTask(bare, address)).toMatchObject({ id: 'T', status: { state: 'working' } })
    expect(decodeResult.sendMessage(bare, send)).toMatchObject({ type: 'task', task: { id: 'T' } })
    expect(decodeResult.sendMessage(hello, send)).toEqual({ type: 'message', message: hello })
    expect(decodeResult.listTasks({ tasks: [bare], nextPageToken: '', pageSize: 1, totalSize: 1 }, {})).toMatchObject({
      tasks: [{ id: 'T' }],
    })
  })

  it('leave out what an event is, and whether it is the last one', () => {
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

  it('leave out its role and the id of a message that goes with a status', () => {
    const { parts } = hello
    const task = decodeResult.getTask({ ...bare, status: { ...status, message: { parts } } }, address)
    expect(task.status.message).toEqual({ role: 'agent', messageId: 'status-2026-05-01T08:00:00Z', parts })
    expect(decodeResult.sendMessage({ kind: 'message', messageId: 'm', parts }, send)).toMatchObject({
      message: { role: 'agent' },
    })
  })

  it('spell states in its own way', () => {
    const states = {
      cancelled: 'canceled',
      input_required: 'input-required',
      Completed: 'completed',
      PENDING: 'submitted',
      running: 'working',
      pondering: 'working',
    }
    for (const [given, state] of Object.entries(states)) {
      expect(decodeResult.getTask({ ...bare, status: { state: given } }, address).status.state).toBe(state)
    }
  })

  it('not answer with anything else', () => {
    for (const result of [null, 'text', {}, { status: {} }]) {
      expect(() => decodeResult.sendMessage(result, send)).toThrow('expected')
      expect(() => decodeEvent(result, send)).toThrow('expected')
    }
  })
})
