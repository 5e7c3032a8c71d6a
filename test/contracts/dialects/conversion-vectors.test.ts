import { describe, expect, it } from 'vitest'
import { specifiedForm } from '../../../src/auth/card-signature/canonical-card.ts'
import type { JsonObject } from '../../../src/base/json.ts'
import { isObject } from '../../../src/base/json.ts'
import type { ClientDialect, ServerDialect } from '../../../src/dialects/dialect.ts'
import { v0_1Client } from '../../../src/dialects/v0.1/client.ts'
import { v0_1 } from '../../../src/dialects/v0.1/server.ts'
import { v0_3Client } from '../../../src/dialects/v0.3/client.ts'
import { v0_3 } from '../../../src/dialects/v0.3/server.ts'
import { v0_3ProtoClient } from '../../../src/dialects/v0.3-proto/client.ts'
import { v0_3Proto } from '../../../src/dialects/v0.3-proto/server.ts'
import { v1_0Client } from '../../../src/dialects/v1.0/client.ts'
import { v1_0 } from '../../../src/dialects/v1.0/server.ts'
import type { Task } from '../../../src/protocol/model.ts'

/** The vectors of conversion in our reference of the dialects, by their numbers. */

interface Spoken {
  readonly server: ServerDialect
  readonly client: ClientDialect
  /** A sent message with this part. */
  readonly sending: (part: JsonObject) => JsonObject
}

const d01: Spoken = {
  server: v0_1,
  client: v0_1Client,
  sending: (part) => ({ id: 't', message: { role: 'user', parts: [part] } }),
}
const d03j: Spoken = {
  server: v0_3,
  client: v0_3Client,
  sending: (part) => ({ message: { kind: 'message', messageId: 'm', role: 'user', parts: [part] } }),
}
const d03p: Spoken = {
  server: v0_3Proto,
  client: v0_3ProtoClient,
  sending: (part) => ({ message: { messageId: 'm', role: 'ROLE_USER', content: [part] } }),
}
const d10: Spoken = {
  server: v1_0,
  client: v1_0Client,
  sending: (part) => ({ message: { messageId: 'm', role: 'ROLE_USER', parts: [part] } }),
}

function sorted(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
}

const parts: readonly (readonly [number, Spoken, JsonObject, Spoken, JsonObject])[] = [
  [1, d10, { data: [1, 2] }, d03j, { kind: 'data', data: { value: [1, 2] }, metadata: { data_part_compat: true } }],
  [2, d03j, { kind: 'data', data: { value: [1, 2] }, metadata: { data_part_compat: true } }, d10, { data: [1, 2] }],
  [3, d03j, { kind: 'data', data: { value: 1 } }, d10, { data: { value: 1 } }],
  [
    4,
    d10,
    { raw: '//77', mediaType: 'image/png', filename: 'a.png' },
    d03j,
    { kind: 'file', file: { bytes: '//77', mimeType: 'image/png', name: 'a.png' } },
  ],
  [5, d03j, { kind: 'file', file: { bytes: '__77' } }, d10, { raw: '//77' }],
  [
    6,
    d10,
    { text: 'x', mediaType: 'text/markdown' },
    d03j,
    { kind: 'text', text: 'x', metadata: { 'a2a.mediaType': 'text/markdown' } },
  ],
  [7, d10, { data: { k: 1 } }, d03p, { data: { data: { k: 1 } } }],
  [
    17,
    d01,
    { type: 'file', file: { name: 'r.pdf' } },
    d10,
    { data: { file: { name: 'r.pdf' } }, mediaType: 'application/vnd.a2a.file-reference+json' },
  ],
]

describe('parts', () => {
  it.each(parts)('vector %i', (_, from, part, to, expected) => {
    const request = from.server.decodeRequest.streamMessage(from.sending(part))
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
  it('vector 8: a time without a zone is one of UTC', () => {
    const wire = {
      kind: 'task',
      id: 't',
      contextId: 'c',
      status: { state: 'working', timestamp: '2025-04-02T16:59:25.331844' },
    }
    const told = v1_0.encodeResult.getTask(v0_3Client.decodeResult.getTask(wire, address), address)
    expect(told).toMatchObject({ status: { timestamp: '2025-04-02T16:59:25.331Z' } })
  })

  it('vector 9: 0.1 has no word for rejected, and says it beside', () => {
    expect(v0_1.encodeResult.getTask(task({ state: 'rejected', timestamp }), address)).toMatchObject({
      status: { state: 'failed' },
      metadata: { 'a2a.state': 'TASK_STATE_REJECTED' },
    })
  })

  it('vector 10: canceled has two l in 0.3 and one in 1.0', () => {
    const wire = { id: 't', contextId: 'c', status: { state: 'TASK_STATE_CANCELLED' } }
    const read = v0_3ProtoClient.decodeResult.getTask(wire, address)
    expect(v1_0.encodeResult.getTask(read, address)).toMatchObject({ status: { state: 'TASK_STATE_CANCELED' } })
    expect(v0_3Proto.encodeResult.getTask(read, address)).toMatchObject({ status: { state: 'TASK_STATE_CANCELLED' } })
  })

  it('vector 15: a list that is empty says so in four members', () => {
    const page = { tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0, withArtifacts: false }
    expect(v1_0.encodeResult.listTasks(page, {})).toEqual({ tasks: [], nextPageToken: '', pageSize: 50, totalSize: 0 })
  })

  it('vector 18: an answer without a task is a completed one in 0.1', () => {
    const message = { messageId: 'm', role: 'agent', parts: [{ text: 'hi' }] } as const
    const request = v0_1.decodeRequest.sendMessage(d01.sending({ type: 'text', text: 'x' }))
    expect(v0_1.encodeResult.sendMessage({ type: 'message', message }, request)).toMatchObject({
      id: 't',
      status: { state: 'completed', message: { role: 'agent', parts: [{ type: 'text', text: 'hi' }] } },
    })
  })

  it('vector 19: 0.3 always has a context', () => {
    const told = v0_3.encodeResult.getTask(task({ state: 'working', timestamp }, 'from the store'), address)
    expect(told).toMatchObject({ contextId: 'from the store' })
  })
})

describe('configurations', () => {
  const text = { kind: 'text', text: 'hi' }
  const newer = (configuration: JsonObject) =>
    v1_0Client.encodeRequest.streamMessage(v0_3.decodeRequest.streamMessage({ ...d03j.sending(text), configuration }))
      .configuration

  it('vectors 11 and 12: blocking is the opposite of returning immediately, and the default', () => {
    expect(newer({ blocking: false })).toEqual({ returnImmediately: true })
    expect(newer({})).toEqual({})
  })

  it('vector 13: of several schemes 1.0 has the first, and 0.3 has them all again', () => {
    const authentication = { schemes: ['Bearer', 'Basic'], credentials: 't' }
    const given = { taskId: 't', pushNotificationConfig: { id: 'p', url: 'https://h', authentication } }
    const read = v0_3.decodeRequest.createPushConfig(given)
    expect(v1_0Client.encodeRequest.createPushConfig(read)).toMatchObject({
      authentication: { scheme: 'Bearer', credentials: 't' },
    })
    expect(v0_3.encodeResult.createPushConfig(read, read)).toEqual(given)
  })

  it('vector 14: requirements have wrappers since the proto', () => {
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

  it('vector 16: what is empty and required stays in the canonical card, what is empty and repeated goes', () => {
    const { text } = specifiedForm({
      skills: [],
      description: '',
      capabilities: { streaming: false, pushNotifications: false, extensions: [] },
    })
    const canonical: JsonObject = JSON.parse(text)
    expect(text).toBe(JSON.stringify(canonical, (_, value) => (isObject(value) ? sorted(value) : value)))
    expect(canonical).toMatchObject({ description: '', skills: [] })
    expect(canonical.capabilities).toEqual({ streaming: false, pushNotifications: false })
  })

  it('vector 20: what is deleted is answered with null before 1.0', () => {
    expect(v0_3.encodeResult.deletePushConfig(undefined, { taskId: 't', id: 'p' })).toBeNull()
    expect(v1_0.encodeResult.deletePushConfig(undefined, { taskId: 't', id: 'p' })).toEqual({})
  })
})
