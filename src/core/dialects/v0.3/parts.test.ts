import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../../base/json.ts'
import { v1_0Client } from '../v1.0/client.ts'
import { v1_0 } from '../v1.0/server.ts'
import { v0_3Client } from './client.ts'
import { v0_3 } from './server.ts'

/** Converts the params of a send from 1.0 to 0.3. */
function toOlder(params: JsonObject): JsonObject {
  return v0_3Client.encodeRequest.streamMessage(v1_0.decodeRequest.streamMessage(params))
}

function toNewer(params: JsonObject): JsonObject {
  return v1_0Client.encodeRequest.streamMessage(v0_3.decodeRequest.streamMessage(params))
}

const newer = { messageId: 'm', role: 'ROLE_USER' }
const older = { kind: 'message', messageId: 'm', role: 'user' }

function expectPart(part: JsonObject, between: { readonly to0_3: Json } | { readonly to1_0: Json }): void {
  if ('to0_3' in between) {
    expect(toOlder({ message: { ...newer, parts: [part] } }).message).toEqual({ ...older, parts: [between.to0_3] })
  } else {
    expect(toNewer({ message: { ...older, parts: [part] } })).toEqual({ message: { ...newer, parts: [between.to1_0] } })
  }
}

describe('a part between 0.3 and 1.0', () => {
  it('data that is not an object is wrapped and unwrapped', () => {
    const wrapped = { kind: 'data', data: { value: [1, 2] }, metadata: { data_part_compat: true } }
    expectPart({ data: [1, 2] }, { to0_3: wrapped })
    expectPart(wrapped, { to1_0: { data: [1, 2] } })
    expectPart({ data: null }, { to0_3: { ...wrapped, data: { value: null } } })
    expectPart(
      { ...wrapped, metadata: { data_part_compat: true, k: 1 } },
      { to1_0: { data: [1, 2], metadata: { k: 1 } } },
    )
  })

  it('data that only resembles a part of another kind stays data', () => {
    const mediaType = 'application/vnd.a2a.unknown-part+json'
    const metadata = { 'a2a.mediaType': mediaType }
    for (const data of [{}, { kind: 'text', text: 'x' }, { kind: 7 }] as JsonObject[]) {
      expectPart({ data, mediaType }, { to0_3: { kind: 'data', data, metadata } })
    }
    const wrapped = { kind: 'data', data: { value: 7 }, metadata: { ...metadata, data_part_compat: true } }
    expectPart({ data: 7, mediaType }, { to0_3: wrapped })
  })

  it('data that only resembles wrapped data stays as it is', () => {
    expectPart({ kind: 'data', data: { value: 1 } }, { to1_0: { data: { value: 1 } } })
    expectPart(
      { kind: 'data', data: { value: 1, unit: 'm' }, metadata: { data_part_compat: true } },
      { to1_0: { data: { value: 1, unit: 'm' }, metadata: { data_part_compat: true } } },
    )
  })

  it('a file has its name and media type in other members', () => {
    const file = { bytes: '//77', mimeType: 'image/png', name: 'a.png' }
    expectPart({ raw: '//77', mediaType: 'image/png', filename: 'a.png' }, { to0_3: { kind: 'file', file } })
    expectPart({ kind: 'file', file: { uri: 'https://f', name: '' } }, { to1_0: { url: 'https://f' } })
  })

  it('bytes are in standard base64', () => {
    expectPart({ kind: 'file', file: { bytes: '__77' } }, { to1_0: { raw: '//77' } })
  })

  it('text has its media type and name in the metadata', () => {
    const metadata = { 'a2a.mediaType': 'text/markdown' }
    expectPart({ text: 'x', mediaType: 'text/markdown' }, { to0_3: { kind: 'text', text: 'x', metadata } })
    expectPart({ kind: 'text', text: 'x', metadata }, { to1_0: { text: 'x', mediaType: 'text/markdown' } })
    expectPart(
      { kind: 'text', text: 'x', metadata: { 'a2a.filename': 'x.md', k: 1 } },
      { to1_0: { text: 'x', filename: 'x.md', metadata: { k: 1 } } },
    )
  })
})

it('a timestamp without a zone is in UTC', () => {
  const task = { kind: 'task', id: 'T', contextId: 'C' }
  const status = { state: 'working', timestamp: '2025-04-02T16:59:25.331844' }
  const read = v0_3Client.decodeResult.getTask({ ...task, status }, { taskId: 'T' })
  expect(read.status.timestamp).toBe('2025-04-02T16:59:25.331Z')
})

it('blocking is the opposite of returnImmediately', () => {
  const params = (configuration: JsonObject) => ({
    message: { ...older, parts: [{ kind: 'text', text: 'x' }] },
    configuration,
  })
  expect(toNewer(params({ blocking: false }))).toMatchObject({ configuration: { returnImmediately: true } })
  expect(toNewer(params({})).configuration).toStrictEqual({})
  expect(toNewer(params({ blocking: true })).configuration).toStrictEqual({})
})

describe('a push config between 0.3 and 1.0', () => {
  const authentication = { schemes: ['Bearer', 'Basic'], credentials: 't' }
  const config = { taskId: 'T', pushNotificationConfig: { id: 'c', url: 'https://h', authentication } }

  it('a push config has the first scheme of its list in 1.0, and the whole list again in 0.3', () => {
    const read = v0_3.decodeRequest.createPushConfig(config)
    const wireConfig = v1_0.encodeResult.createPushConfig(read, read)
    expect(wireConfig).toEqual({
      taskId: 'T',
      id: 'c',
      url: 'https://h',
      authentication: { scheme: 'Bearer', credentials: 't' },
    })
    expect(v0_3.encodeResult.getPushConfig(read, { taskId: 'T' })).toEqual(config)
  })

  it('a push config has a list of its one scheme in 0.3', () => {
    const read = v1_0.decodeRequest.createPushConfig({
      taskId: 'T',
      url: 'https://h',
      authentication: { scheme: 'Basic' },
    })
    const pushNotificationConfig = { url: 'https://h', authentication: { schemes: ['Basic'] } }
    expect(v0_3.encodeResult.createPushConfig(read, read)).toEqual({ taskId: 'T', pushNotificationConfig })
  })
})

it('the security requirements of a card are wrapped in 1.0', () => {
  const card = v0_3Client.decodeCard({
    protocolVersion: '0.3.0',
    name: 'Echo',
    description: 'Says it back',
    url: 'https://a.test/rpc',
    version: '1.0.0',
    capabilities: {},
    defaultInputModes: [],
    defaultOutputModes: [],
    skills: [],
    security: [{ a: [], b: ['s'] }],
  })
  expect(v1_0.encodeCard(card).securityRequirements).toEqual([{ schemes: { a: {}, b: { list: ['s'] } } }])
})
