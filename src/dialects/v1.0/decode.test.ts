import { describe, expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/service.ts'
import { decodeRequest as decode } from './decode.ts'

const hello = { messageId: 'm-1', role: 'ROLE_USER', parts: [{ text: 'hi' }] }

function send(message: object, rest: object = {}) {
  return decode.sendMessage({ message: { ...hello, ...message }, ...rest })
}

function problemOf(operation: Operation, params: unknown): string {
  try {
    decode[operation](params)
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    expect(error.code).toBe('invalid-params')
    const [violation] = error.violations
    expect(error.message).toBe(`${violation?.field}: ${violation?.description}`)
    return error.message
  }
  throw new Error('expected an error')
}

function problemOfPart(part: unknown): string {
  return problemOf('sendMessage', { message: { ...hello, parts: [part] } })
}

describe('a sent message', () => {
  it('is read from its smallest form', () => {
    expect(send({})).toStrictEqual({ message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] } })
  })

  it('is read from its fullest form', () => {
    const message = {
      messageId: 'm-1',
      role: 1,
      parts: [
        { text: '', mediaType: 'text/markdown', metadata: { a: null } },
        { raw: '__77', filename: 'a.png', media_type: 'image/png' },
        { url: 'https://example.com/a', filename: '' },
        { data: null },
        { data: [1, { deep: true }], metadata: null },
      ],
      context_id: 'c-1',
      taskId: 't-1',
      referenceTaskIds: ['t-0'],
      extensions: ['https://example.com/ext'],
      metadata: { trace: 'x' },
    }
    const configuration = {
      acceptedOutputModes: ['text/plain'],
      historyLength: '0',
      returnImmediately: true,
      taskPushNotificationConfig: { url: 'https://example.com/hook', authentication: { scheme: 'Bearer' } },
    }
    expect(decode.streamMessage({ tenant: 'acme', message, configuration, metadata: { k: 1 } })).toStrictEqual({
      tenant: 'acme',
      message: {
        messageId: 'm-1',
        role: 'user',
        parts: [
          { text: '', mediaType: 'text/markdown', metadata: { a: null } },
          { raw: '//77', filename: 'a.png', mediaType: 'image/png' },
          { url: 'https://example.com/a' },
          { data: null },
          { data: [1, { deep: true }] },
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
        returnImmediately: true,
        push: { url: 'https://example.com/hook', authentication: { scheme: 'Bearer' } },
      },
      metadata: { k: 1 },
    })
  })

  it('ignores members it does not know, also those of older versions', () => {
    const parts = [{ kind: 'text', text: 'hi' }]
    expect(send({ kind: 'message', parts }, { configuration: { blocking: true } })).toStrictEqual({
      message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] },
      configuration: {},
    })
  })

  it('takes defaults of proto3 for unset', () => {
    const message = { contextId: '', taskId: null, referenceTaskIds: [], extensions: [], metadata: null }
    const configuration = { returnImmediately: false, acceptedOutputModes: [], historyLength: null }
    expect(send(message, { tenant: '', configuration })).toStrictEqual({
      message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] },
      configuration: {},
    })
  })

  it('must have its required members', () => {
    expect(problemOf('sendMessage', undefined)).toBe('message: expected an object, got nothing')
    expect(problemOf('sendMessage', { message: {} })).toMatch(/^message\.messageId: expected a string .* got nothing$/)
    expect(problemOf('sendMessage', { message: { ...hello, messageId: '' } })).toMatch(/^message\.messageId: .* got 0$/)
    expect(problemOf('sendMessage', { message: { ...hello, role: 'ROLE_UNSPECIFIED' } })).toBe(
      'message.role: expected one of ROLE_USER, ROLE_AGENT, got "ROLE_UNSPECIFIED"',
    )
    expect(problemOf('sendMessage', { message: { ...hello, parts: [] } })).toBe(
      'message.parts: expected a list of 1 to 1000 items, got 0',
    )
  })

  it('is not sent in the name of the agent', () => {
    expect(problemOf('sendMessage', { message: { ...hello, role: 'ROLE_AGENT' } })).toMatch(
      /^message\.role: expected ROLE_USER, got ROLE_AGENT/,
    )
  })

  it('has at most 1000 parts', () => {
    const parts = (count: number) => Array.from({ length: count }, () => ({ text: 'x' }))
    expect(send({ parts: parts(1000) }).message.parts).toHaveLength(1000)
    expect(problemOf('sendMessage', { message: { ...hello, parts: parts(1001) } })).toMatch(/^message\.parts: .*1001$/)
  })

  it('has no negative history length', () => {
    expect(problemOf('sendMessage', { message: hello, configuration: { historyLength: -1 } })).toMatch(
      /^configuration\.historyLength: expected an integer from 0 to 2147483647, got -1$/,
    )
  })

  it('names the field of a push config that is wrong, and shows no secret', () => {
    const taskPushNotificationConfig = { url: 'https://h', authentication: 'Bearer s3cret' }
    expect(problemOf('sendMessage', { message: hello, configuration: { taskPushNotificationConfig } })).toBe(
      'configuration.taskPushNotificationConfig.authentication: expected an object, got a string',
    )
  })
})

describe('a part', () => {
  it('has exactly one content', () => {
    const one = 'message.parts[0]: expected exactly one of text, raw, url, data, got'
    expect(problemOfPart({})).toBe(`${one} none of them`)
    expect(problemOfPart({ text: null })).toBe(`${one} none of them`)
    expect(problemOfPart({ text: 'a', data: null })).toBe(`${one} text and data`)
  })

  it('has a content of the right type', () => {
    expect(problemOfPart({ raw: 7 })).toBe('message.parts[0].raw: expected base64, got a number')
    expect(problemOfPart({ text: ['a'] })).toBe('message.parts[0].text: expected a string, got a list')
    expect(problemOfPart({ text: 'a', metadata: [] })).toBe('message.parts[0].metadata: expected an object, got a list')
    expect(problemOfPart('hi')).toBe('message.parts[0]: expected an object, got a string')
  })

  it('of an older version is recognised', () => {
    expect(problemOfPart({ kind: 'file', file: { uri: 'https://x' } })).toMatch(
      /got none of them; a part with "kind" looks like A2A 0\.2 or 0\.3; in 1\.0 write \{"text": …\}/,
    )
    expect(problemOfPart({ type: 'file', file: {} })).toMatch(/a part with "type" looks like A2A 0\.1/)
    expect(problemOf('sendMessage', { message: { ...hello, role: 'user' } })).toBe(
      'message.role: expected one of ROLE_USER, ROLE_AGENT, got "user"; ' +
        '"user" looks like A2A 0.3 or older; in 1.0 write "ROLE_USER"',
    )
  })
})

describe('the other requests', () => {
  it('get, cancel and subscribe to a task by its id', () => {
    expect(decode.getTask({ id: 't', historyLength: 0 })).toStrictEqual({ taskId: 't', historyLength: 0 })
    expect(decode.cancelTask({ id: 't', metadata: { why: 'x' } })).toStrictEqual({
      taskId: 't',
      metadata: { why: 'x' },
    })
    expect(decode.subscribeToTask({ id: 't', tenant: 'a' })).toStrictEqual({ taskId: 't', tenant: 'a' })
    for (const operation of ['getTask', 'cancelTask', 'subscribeToTask'] as const) {
      expect(problemOf(operation, {})).toMatch(/^id: expected a string of 1 to 256 characters, got nothing$/)
    }
  })

  it('list tasks without and with filters', () => {
    expect(decode.listTasks(undefined)).toEqual({})
    expect(decode.listTasks({ status: 'TASK_STATE_UNSPECIFIED', pageToken: '', contextId: '' })).toEqual({})
    const params = {
      context_id: 'c',
      status: 'TASK_STATE_INPUT_REQUIRED',
      pageSize: 100,
      pageToken: 'next',
      historyLength: 3,
      statusTimestampAfter: '2026-05-01T10:00:00+02:00',
      includeArtifacts: true,
    }
    expect(decode.listTasks(params)).toEqual({
      contextId: 'c',
      state: 'input-required',
      pageSize: 100,
      pageToken: 'next',
      historyLength: 3,
      statusSince: '2026-05-01T08:00:00.000Z',
      includeArtifacts: true,
    })
  })

  it('list no tasks for a filter that cannot be', () => {
    expect(problemOf('listTasks', { pageSize: 150 })).toBe('pageSize: expected an integer from 1 to 100, got 150')
    expect(problemOf('listTasks', { pageSize: 0 })).toMatch(/^pageSize: /)
    expect(problemOf('listTasks', { historyLength: -1 })).toMatch(/^historyLength: /)
    expect(problemOf('listTasks', { status: 'working' })).toMatch(/^status: expected one of TASK_STATE_SUBMITTED, /)
    expect(problemOf('listTasks', { statusTimestampAfter: '2026-05-01T10:00:00' })).toMatch(/^statusTimestampAfter: /)
  })

  it('manage push configs', () => {
    const config = { taskId: 't', url: 'https://h', token: 'k', authentication: { scheme: 'Basic', credentials: 'c' } }
    expect(decode.createPushConfig({ ...config, id: '' })).toStrictEqual(config)
    expect(problemOf('createPushConfig', { url: 'https://h' })).toMatch(/^taskId: /)
    expect(decode.getPushConfig({ task_id: 't', id: 'p' })).toStrictEqual({ taskId: 't', id: 'p' })
    expect(decode.deletePushConfig({ taskId: 't', id: 'p' })).toStrictEqual({ taskId: 't', id: 'p' })
    expect(problemOf('getPushConfig', { taskId: 't' })).toMatch(/^id: /)
    expect(decode.listPushConfigs({ taskId: 't', pageSize: 0 })).toStrictEqual({ taskId: 't' })
  })

  it('ask for the extended card without params', () => {
    expect(decode.getExtendedCard(undefined)).toStrictEqual({})
  })

  it('have params that are an object', () => {
    for (const operation of Object.keys(decode) as Operation[]) {
      for (const params of [null, [], 'x', 5]) {
        expect(problemOf(operation, params)).toMatch(/^params: expected an object, got /)
      }
    }
  })
})
