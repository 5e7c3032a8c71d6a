import { describe, expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/service.ts'
import { v0_3Proto, v0_3ProtoStrict } from './server.ts'

const { decodeRequest: decode } = v0_3Proto
const { decodeRequest: decodeStrictly } = v0_3ProtoStrict

const hello = { messageId: 'm-1', role: 'ROLE_USER', content: [{ text: 'hi' }] }

function problemOf(operation: Operation, params: unknown, dialect = v0_3ProtoStrict): string {
  try {
    dialect.decodeRequest[operation](params)
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    expect(error.code).toBe('invalid-params')
    return error.message
  }
  throw new Error('expected an error')
}

describe('a sent message', () => {
  it('is read from its smallest form', () => {
    expect(decodeStrictly.sendMessage({ message: hello })).toMatchObject({
      message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] },
    })
  })

  it('is read from its fullest form', () => {
    const content = [
      { text: 'a', metadata: { 'a2a.mediaType': 'text/markdown', k: 1 } },
      { file: { fileWithBytes: '__77', mimeType: 'image/png', name: 'a.png' } },
      { file: { file_with_uri: 'https://f' }, metadata: { k: 1 } },
      { data: { data: { k: 1 } } },
      { data: { data: { value: [1] } }, metadata: { data_part_compat: true } },
    ]
    const message = { ...hello, content, metadata: { 'a2a.referenceTaskIds': ['t-0'] }, extensions: ['https://e'] }
    const configuration = {
      acceptedOutputModes: ['text/plain'],
      historyLength: 0,
      blocking: false,
      pushNotification: { url: 'https://h', authentication: { schemes: ['Bearer', 'Basic'], credentials: 'c' } },
    }
    expect(decodeStrictly.streamMessage({ message, configuration, metadata: { k: 1 } })).toEqual({
      message: {
        messageId: 'm-1',
        role: 'user',
        parts: [
          { text: 'a', mediaType: 'text/markdown', metadata: { k: 1 } },
          { raw: '//77', mediaType: 'image/png', filename: 'a.png' },
          { url: 'https://f', metadata: { k: 1 } },
          { data: { k: 1 } },
          { data: [1] },
        ],
        extensions: ['https://e'],
        referenceTaskIds: ['t-0'],
      },
      configuration: {
        acceptedOutputModes: ['text/plain'],
        historyLength: 0,
        returnImmediately: true,
        push: {
          url: 'https://h',
          authentication: { scheme: 'Bearer', credentials: 'c' },
          carry: { 'v0.3-proto': { schemes: ['Bearer', 'Basic'] } },
        },
      },
      metadata: { k: 1 },
      carry: { 'v0.3-proto': { asSent: true } },
    })
  })

  it('waits if it says so, or nothing at all', () => {
    const wish = (configuration?: object) =>
      decode.sendMessage({ message: hello, configuration }).configuration?.returnImmediately
    expect([wish(), wish({}), wish({ blocking: true }), wish({ blocking: false })]).toEqual([
      undefined,
      true,
      false,
      true,
    ])
  })

  it('names the field that is wrong, and what looks like another form of A2A', () => {
    expect(problemOf('sendMessage', undefined)).toBe('message: expected an object, got nothing')
    const kind = { ...hello, content: [{ kind: 'file', file: 7 }] }
    expect(problemOf('sendMessage', { message: kind })).toBe(
      'message.content[0].file: expected an object, got a number',
    )
    const newer = { ...hello, content: [{ url: 'https://f' }] }
    expect(problemOf('sendMessage', { message: newer })).toContain('a part with "raw" or "url" looks like A2A 1.0')
    expect(problemOf('sendMessage', { message: { ...hello, role: 'user' } })).toContain(
      'in the proto write "ROLE_USER"',
    )
    const both = { ...hello, content: [{ file: { fileWithUri: 'https://f', fileWithBytes: '' } }] }
    expect(problemOf('sendMessage', { message: both })).toMatch(/^message\.content\[0\]\.file: expected exactly one of/)
  })
})

describe('the forms in the wild', () => {
  const clean = decodeStrictly.sendMessage({ message: hello })

  it('have other names for the message and its content', () => {
    const { content, messageId, role } = hello
    const sloppy = [
      { request: { message_id: messageId, role, content } },
      { message: { messageId, role: 1, parts: content } },
      { message: { ...hello, role: 'ROLE_AGENT' } },
    ]
    for (const params of sloppy) {
      expect(decode.sendMessage(params)).toEqual(clean)
      expect(problemOf('sendMessage', params)).toMatch(/^message/)
    }
  })

  it('have other names for a push config', () => {
    for (const name of ['pushNotificationConfig', 'push_notification_config']) {
      const params = { message: hello, configuration: { [name]: { url: 'https://h' } } }
      expect(decode.sendMessage(params).configuration?.push).toEqual({ url: 'https://h' })
      expect(decodeStrictly.sendMessage(params).configuration?.push).toBeUndefined()
    }
  })

  it('have other names for the content of a file, and data without a wrapper', () => {
    const parts = (content: readonly object[]) => decode.sendMessage({ message: { ...hello, content } }).message.parts
    expect(parts([{ file: { bytes: '//77' } }, { file: { uri: 'https://f', mime_type: 'image/png' } }])).toEqual([
      { raw: '//77' },
      { url: 'https://f', mediaType: 'image/png' },
    ])
    expect(parts([{ data: { k: 1 } }, { data: { data: { k: 1 } } }, { data: { data: { k: 1 }, more: 2 } }])).toEqual([
      { data: { k: 1 } },
      { data: { k: 1 } },
      { data: { data: { k: 1 }, more: 2 } },
    ])
  })

  it('are not mixed with those of other dialects', () => {
    const message = { ...hello, role: 'user' }
    expect(problemOf('sendMessage', { message }, v0_3Proto)).toContain('"user" looks like A2A 0.3 over JSON-RPC')
  })
})

describe('the other requests', () => {
  it('name a task', () => {
    expect(decode.getTask({ name: 'tasks/t', history_length: '3' })).toEqual({ taskId: 't', historyLength: 3 })
    expect(decode.cancelTask({ name: 'tasks/a/b' })).toEqual({ taskId: 'a/b' })
    expect(decode.subscribeToTask({ name: 'tasks/t' })).toEqual({ taskId: 't', includeEnded: true })
    expect(problemOf('getTask', { name: 't' })).toBe('name: expected a name such as tasks/{id}, got "t"')
    expect(problemOf('getTask', {})).toBe('name: expected a name such as tasks/{id}, got nothing')
    expect(problemOf('getTask', { name: `tasks/${'x'.repeat(257)}` })).toMatch(/^name: expected a string of 1 to 256/)
  })

  it('name a push config', () => {
    const name = 'tasks/t/pushNotificationConfigs/c'
    expect(decode.getPushConfig({ name })).toEqual({ taskId: 't', id: 'c' })
    expect(decode.deletePushConfig({ name })).toEqual({ taskId: 't', id: 'c' })
    expect(problemOf('getPushConfig', { name: 'tasks/t' })).toMatch(
      /^name: expected a name such as tasks\/\{id\}\/push/,
    )
    expect(decode.listPushConfigs({ parent: 'tasks/t', page_size: 5 })).toEqual({ taskId: 't', pageSize: 5 })
  })

  it('create a push config, whose id is in one place or another', () => {
    const create = (ids: object, inner: object = {}) => {
      const { carry, ...config } = decode.createPushConfig({
        parent: 'tasks/t',
        ...ids,
        config: { pushNotificationConfig: { url: 'https://h', ...inner } },
      })
      return config
    }
    expect(create({ configId: 'c' }, { id: 'other' })).toEqual({ taskId: 't', id: 'c', url: 'https://h' })
    expect(create({}, { id: 'c' })).toEqual({ taskId: 't', id: 'c', url: 'https://h' })
    expect(create({})).toEqual({ taskId: 't', id: 't', url: 'https://h' })
  })

  it('list tasks, with the state in either spelling', () => {
    const sloppy = { status: 'TASK_STATE_CANCELED', lastUpdatedAfter: '2026-05-01T08:00:00' }
    expect(decode.listTasks(sloppy)).toEqual({ state: 'canceled', statusSince: '2026-05-01T08:00:00.000Z' })
    expect(decode.listTasks({ status: 'TASK_STATE_CANCELLED' })).toEqual({ state: 'canceled' })
    expect(problemOf('listTasks', sloppy)).toMatch(/^status: expected one of TASK_STATE_SUBMITTED/)
  })
})
