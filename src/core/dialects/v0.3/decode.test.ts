import { describe, expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/service.ts'
import type { ServerDialect } from '../dialect.ts'
import { decodeRequest as decode, decodeRequestStrictly as decodeStrictly } from './requests.ts'

const text = { kind: 'text', text: 'hi' }
const hello = { kind: 'message', messageId: 'm-1', role: 'user', parts: [text] }
const read = { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] }

function problemOf(operation: Operation, params: unknown, decoder: ServerDialect['decodeRequest'] = decode): string {
  try {
    decoder[operation](params)
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    expect(error.code).toBe('invalid-params')
    return error.message
  }
  throw new Error('expected an error')
}

function problemOfPart(part: unknown, decoder?: ServerDialect['decodeRequest']): string {
  return problemOf('sendMessage', { message: { ...hello, parts: [part] } }, decoder)
}

describe('sendMessage', () => {
  it('a minimal sent message is decoded', () => {
    for (const decoder of [decode, decodeStrictly]) {
      expect(decoder.sendMessage({ message: hello })).toMatchObject({ message: read })
      expect(decoder.streamMessage({ message: hello }).message).toStrictEqual(read)
    }
  })

  it('a complete sent message is decoded', () => {
    const message = {
      ...hello,
      parts: [
        { kind: 'text', text: '', metadata: { a: null } },
        { kind: 'file', file: { bytes: 'QUI', name: 'a.png', mimeType: 'image/png' } },
        { kind: 'file', file: { uri: 'https://example.com/a' }, metadata: { b: 1 } },
        { kind: 'data', data: { deep: [true] } },
      ],
      contextId: 'c-1',
      taskId: 't-1',
      referenceTaskIds: ['t-0'],
      extensions: ['https://example.com/ext'],
      metadata: { trace: 'x' },
      unknown: 1,
    }
    const configuration = {
      acceptedOutputModes: ['text/plain'],
      historyLength: 0,
      blocking: true,
      pushNotificationConfig: { url: 'https://example.com/hook', token: 't', authentication: { schemes: ['Bearer'] } },
    }
    const { carry: _, ...request } = decodeStrictly.sendMessage({ message, configuration, metadata: { k: 1 } })
    expect(request).toEqual({
      message: {
        messageId: 'm-1',
        role: 'user',
        parts: [
          { text: '', metadata: { a: null } },
          { raw: 'QUI=', filename: 'a.png', mediaType: 'image/png' },
          { url: 'https://example.com/a', metadata: { b: 1 } },
          { data: { deep: [true] } },
        ],
        contextId: 'c-1',
        taskId: 't-1',
        referenceTaskIds: ['t-0'],
        extensions: ['https://example.com/ext'],
        metadata: { trace: 'x' },
      },
      configuration: {
        acceptedOutputModes: ['text/plain'],
        historyLength: 0,
        returnImmediately: false,
        push: { url: 'https://example.com/hook', token: 't', authentication: { scheme: 'Bearer' } },
      },
      metadata: { k: 1 },
    })
  })

  it('a sent message must have its required members', () => {
    expect(problemOf('sendMessage', undefined)).toBe('message: expected an object, got nothing')
    expect(problemOf('sendMessage', { message: { ...hello, messageId: undefined } })).toMatch(/^message\.messageId: /)
    expect(problemOf('sendMessage', { message: { ...hello, role: undefined } })).toBe(
      'message.role: expected "user", got nothing',
    )
    expect(problemOf('sendMessage', { message: { ...hello, parts: [] } })).toBe(
      'message.parts: expected a list of 1 to 1000 items, got 0',
    )
    expect(problemOf('sendMessage', { message: hello, configuration: { historyLength: -1 } })).toMatch(
      /^configuration\.historyLength: expected an integer from 0 /,
    )
  })

  it('a file has either bytes or a URI', () => {
    expect(problemOfPart({ kind: 'file', file: { bytes: 'QQ==', uri: 'https://f' } })).toBe(
      'message.parts[0].file: expected exactly one of bytes, uri, got bytes and uri',
    )
    expect(problemOfPart({ kind: 'file', file: {} })).toContain('got none of them')
    expect(problemOfPart({ kind: 'file', file: { bytes: '?' } })).toMatch(/^message\.parts\[0\]\.file\.bytes: expected/)
  })

  it('an error in a sent message names the version that it resembles', () => {
    expect(problemOf('sendMessage', { message: { ...hello, role: 'ROLE_USER' } })).toBe(
      'message.role: expected "user", got "ROLE_USER"; "ROLE_USER" looks like A2A 1.0; in 0.3 write "user"',
    )
    expect(problemOfPart({ url: 'https://f' })).toContain('a part without "kind" looks like A2A 1.0; in 0.3 write')
    expect(problemOfPart({ type: 'text', text: 'hi' }, decodeStrictly)).toContain(
      'a part with "type" looks like A2A 0.1',
    )
    expect(problemOfPart('hi')).toBe('message.parts[0]: expected an object, got a string')
  })
})

describe('the other operations on a task', () => {
  it('a task is addressed by its id', () => {
    expect(decode.getTask({ id: 'T', historyLength: 0 })).toStrictEqual({ taskId: 'T', historyLength: 0 })
    expect(decode.getTask({ id: 'T' })).toStrictEqual({ taskId: 'T' })
    expect(decode.cancelTask({ id: 'T', metadata: { why: 'x' } })).toStrictEqual({
      taskId: 'T',
      metadata: { why: 'x' },
    })
    expect(problemOf('getTask', {})).toMatch(/^id: expected a string of 1 to 256 characters, got nothing$/)
  })

  it('a subscription accepts an ended task', () => {
    expect(decode.subscribeToTask({ id: 'T' })).toStrictEqual({ taskId: 'T', includeEnded: true })
  })
})

describe('listTasks', () => {
  it('a list request of the drafts after 0.3.0 is decoded', () => {
    const filters = { contextId: 'C', pageSize: 10, pageToken: 'p', historyLength: 1, includeArtifacts: true }
    expect(decode.listTasks({ ...filters, status: 'input-required', lastUpdatedAfter: 1777622400000 })).toStrictEqual({
      ...filters,
      state: 'input-required',
      statusSince: '2026-05-01T08:00:00.000Z',
    })
    expect(decode.listTasks(undefined)).toStrictEqual({})
  })

  it('a list request with an invalid filter is rejected', () => {
    expect(decode.listTasks({ status: 'unknown' })).toStrictEqual({ state: 'unknown' })
    expect(problemOf('listTasks', { status: 'asleep' })).toMatch(/^status: expected one of submitted, working/)
    for (const lastUpdatedAfter of ['2026', -1, 1.5, 1e300]) {
      expect(problemOf('listTasks', { lastUpdatedAfter })).toMatch(/^lastUpdatedAfter: expected a time in milliseconds/)
    }
  })
})

describe('a push config', () => {
  it('a push config without an id gets that of its task, so that the next one replaces it', () => {
    const pushNotificationConfig = { url: 'https://h' }
    expect(decode.createPushConfig({ taskId: 'T', pushNotificationConfig })).toMatchObject({
      taskId: 'T',
      id: 'T',
      url: 'https://h',
    })
    expect(
      decode.createPushConfig({ taskId: 'T', pushNotificationConfig: { ...pushNotificationConfig, id: 'c' } }).id,
    ).toBe('c')
  })

  it('a push config without a scheme has no usable authentication', () => {
    const pushNotificationConfig = { url: 'https://h', authentication: { schemes: [], credentials: 's3cret' } }
    expect(decode.createPushConfig({ taskId: 'T', pushNotificationConfig }).authentication).toBeUndefined()
  })

  it('a push config is addressed by its id, or by its task alone', () => {
    expect(decode.getPushConfig({ id: 'T', pushNotificationConfigId: 'c' })).toStrictEqual({ taskId: 'T', id: 'c' })
    expect(decode.getPushConfig({ id: 'T' })).toStrictEqual({ taskId: 'T' })
    expect(decode.listPushConfigs({ id: 'T' })).toStrictEqual({ taskId: 'T' })
    expect(decode.deletePushConfig({ id: 'T', pushNotificationConfigId: 'c' })).toStrictEqual({ taskId: 'T', id: 'c' })
    expect(problemOf('deletePushConfig', { id: 'T' })).toMatch(/^pushNotificationConfigId: /)
  })

  it('an error in a push config shows no secret', () => {
    const pushNotificationConfig = { url: 'https://h', authentication: 'Bearer s3cret' }
    expect(problemOf('createPushConfig', { taskId: 'T', pushNotificationConfig })).toBe(
      'pushNotificationConfig.authentication: expected an object, got a string',
    )
  })
})

it('the extended card is requested without params', () => {
  for (const params of [undefined, {}]) expect(decode.getExtendedCard(params)).toStrictEqual({})
})
