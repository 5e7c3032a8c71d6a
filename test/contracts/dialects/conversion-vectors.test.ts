import { describe, expect, it } from 'vitest'
import { specifiedForm } from '../../../src/core/auth/card-signature/canonical-card.ts'
import { isObject, type JsonObject } from '../../../src/core/base/json.ts'
import type { ClientDialect, ServerDialect } from '../../../src/core/dialects/dialect.ts'
import { v0_1Client } from '../../../src/core/dialects/v0.1/client.ts'
import { v0_1 } from '../../../src/core/dialects/v0.1/server.ts'
import { v0_3Client } from '../../../src/core/dialects/v0.3/client.ts'
import { v0_3 } from '../../../src/core/dialects/v0.3/server.ts'
import { v0_3ProtoClient } from '../../../src/core/dialects/v0.3-proto/client.ts'
import { v0_3Proto } from '../../../src/core/dialects/v0.3-proto/server.ts'
import { v1_0Client } from '../../../src/core/dialects/v1.0/client.ts'
import { v1_0 } from '../../../src/core/dialects/v1.0/server.ts'
import type { Task } from '../../../src/core/protocol/model.ts'

// Fixed conversions between dialects. Their numbers are those of the reference of the dialects.

interface DialectPair {
  readonly server: ServerDialect
  readonly client: ClientDialect
  /** The params of a send with this part. */
  readonly sendParams: (part: JsonObject) => JsonObject
}

const in0_1: DialectPair = {
  server: v0_1,
  client: v0_1Client,
  sendParams: (part) => ({ id: 't', message: { role: 'user', parts: [part] } }),
}
const in0_3: DialectPair = {
  server: v0_3,
  client: v0_3Client,
  sendParams: (part) => ({ message: { kind: 'message', messageId: 'm', role: 'user', parts: [part] } }),
}
const in0_3Proto: DialectPair = {
  server: v0_3Proto,
  client: v0_3ProtoClient,
  sendParams: (part) => ({ message: { messageId: 'm', role: 'ROLE_USER', content: [part] } }),
}
const in1_0: DialectPair = {
  server: v1_0,
  client: v1_0Client,
  sendParams: (part) => ({ message: { messageId: 'm', role: 'ROLE_USER', parts: [part] } }),
}

function sortMembers(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}

const parts: readonly (readonly [number, DialectPair, JsonObject, DialectPair, JsonObject])[] = [
  [1, in1_0, { data: [1, 2] }, in0_3, { kind: 'data', data: { value: [1, 2] }, metadata: { data_part_compat: true } }],
  [2, in0_3, { kind: 'data', data: { value: [1, 2] }, metadata: { data_part_compat: true } }, in1_0, { data: [1, 2] }],
  [3, in0_3, { kind: 'data', data: { value: 1 } }, in1_0, { data: { value: 1 } }],
  [
    4,
    in1_0,
    { raw: '//77', mediaType: 'image/png', filename: 'a.png' },
    in0_3,
    { kind: 'file', file: { bytes: '//77', mimeType: 'image/png', name: 'a.png' } },
  ],
  [5, in0_3, { kind: 'file', file: { bytes: '__77' } }, in1_0, { raw: '//77' }],
  [
    6,
    in1_0,
    { text: 'x', mediaType: 'text/markdown' },
    in0_3,
    { kind: 'text', text: 'x', metadata: { 'a2a.mediaType': 'text/markdown' } },
  ],
  [7, in1_0, { data: { k: 1 } }, in0_3Proto, { data: { data: { k: 1 } } }],
  [
    17,
    in0_1,
    { type: 'file', file: { name: 'r.pdf' } },
    in1_0,
    { data: { file: { name: 'r.pdf' } }, mediaType: 'application/vnd.a2a.file-reference+json' },
  ],
]

describe('parts', () => {
  it.each(parts)('vector %i: the part is converted', (_, from, part, to, expected) => {
    const request = from.server.decodeRequest.streamMessage(from.sendParams(part))
    const { message } = to.client.encodeRequest.streamMessage(request) as { readonly message: JsonObject }
    expect(message.parts ?? message.content).toEqual([expected])
  })
})

const task = (status: Task['status'], contextId = 'c'): Task => ({
  id: 't',
  contextId,
  status,
  artifacts: [],
  history: [],
  generation: 0,
})
const timestamp = '2026-05-01T08:00:00.000Z'
const address = { taskId: 't' }

describe('tasks', () => {
  it('vector 8: a timestamp without a zone is in UTC', () => {
    const wire = {
      kind: 'task',
      id: 't',
      contextId: 'c',
      status: { state: 'working', timestamp: '2025-04-02T16:59:25.331844' },
    }
    const converted = v1_0.encodeResult.getTask(v0_3Client.decodeResult.getTask(wire, address), address)
    expect(converted).toMatchObject({ status: { timestamp: '2025-04-02T16:59:25.331Z' } })
  })

  it('vector 9: rejected becomes failed in 0.1, with the state in the metadata', () => {
    expect(v0_1.encodeResult.getTask(task({ state: 'rejected', timestamp }), address)).toMatchObject({
      status: { state: 'failed' },
      metadata: { 'a2a.state': 'TASK_STATE_REJECTED' },
    })
  })

  it('vector 10: canceled is spelled with two l in the proto of 0.3, and one in 1.0', () => {
    const wire = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_CANCELLED' } }
    const read = v0_3ProtoClient.decodeResult.getTask(wire, address)
    expect(v1_0.encodeResult.getTask(read, address)).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } })
    expect(v0_3Proto.encodeResult.getTask(read, address)).toMatchObject({ status: { state: 'TASK_STATE_CANCELLED' } })
  })

  it('vector 15: an empty page of tasks has all four members', () => {
    const page = { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0, withArtifacts: false }
    expect(v1_0.encodeResult.listTasks(page, {})).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })
  })

  it('vector 18: a reply without a task is a completed task in 0.1', () => {
    const message = { messageId: 'm', role: 'agent', parts: [{ text: 'hi' }] } as const
    const request = v0_1.decodeRequest.sendMessage(in0_1.sendParams({ type: 'text', text: 'x' }))
    expect(v0_1.encodeResult.sendMessage({ type: 'message', message }, request)).toMatchObject({
      id: 't',
      status: { state: 'completed', message: { role: 'agent', parts: [{ type: 'text', text: 'hi' }] } },
    })
  })

  it('vector 19: a task always has a context in 0.3', () => {
    const wire = v0_3.encodeResult.getTask(task({ state: 'working', timestamp }, 'from the store'), address)
    expect(wire).toMatchObject({ contextId: 'from the store' })
  })
})

describe('configurations', () => {
  const text = { kind: 'text', text: 'hi' }
  const toV1_0 = (configuration: JsonObject) =>
    v1_0Client.encodeRequest.streamMessage(
      v0_3.decodeRequest.streamMessage({ ...in0_3.sendParams(text), configuration }),
    ).configuration

  it('vectors 11 and 12: blocking is the opposite of returnImmediately, and the default', () => {
    expect(toV1_0({ blocking: false })).toEqual({ returnImmediately: true })
    expect(toV1_0({})).toEqual({})
  })

  it('vector 13: a push config has its first scheme in 1.0, and all of them again in 0.3', () => {
    const authentication = { schemes: ['Bearer', 'Basic'], credentials: 't' }
    const params = { taskId: 't', pushNotificationConfig: { id: 'p', url: 'https://h', authentication } }
    const read = v0_3.decodeRequest.createPushConfig(params)
    expect(v1_0Client.encodeRequest.createPushConfig(read)).toMatchObject({
      authentication: { scheme: 'Bearer', credentials: 't' },
    })
    expect(v0_3.encodeResult.createPushConfig(read, read)).toEqual(params)
  })

  it('vector 14: security requirements are wrapped in 1.0', () => {
    const card = {
      name: 'A',
      description: 'A',
      url: 'https://h',
      version: '1',
      protocolVersion: '0.3.0',
      capabilities: {},
      defaultInputModes: [],
      defaultOutputModes: [],
      skills: [],
      security: [{ a: [], b: ['s'] }],
    }
    expect(v1_0.encodeCard(v0_3Client.decodeCard(card)).securityRequirements).toEqual([
      { schemes: { a: {}, b: { list: ['s'] } } },
    ])
  })

  it('vector 16: the canonical card has empty required members, but no empty repeated ones', () => {
    const { text } = specifiedForm({
      skills: [],
      description: '',
      capabilities: { streaming: false, pushNotifications: false, extensions: [] },
    })
    const canonical: JsonObject = JSON.parse(text)
    expect(text).toBe(JSON.stringify(canonical, (_, value) => (isObject(value) ? sortMembers(value) : value)))
    expect(canonical).toMatchObject({ description: '', skills: [] })
    expect(canonical.capabilities).toEqual({ streaming: false, pushNotifications: false })
  })

  it('vector 20: the result of a deletion is null before 1.0', () => {
    expect(v0_3.encodeResult.deletePushConfig(undefined, { taskId: 't', id: 'p' })).toBeNull()
    expect(v1_0.encodeResult.deletePushConfig(undefined, { taskId: 't', id: 'p' })).toEqual({})
  })
})
