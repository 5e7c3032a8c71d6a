import { describe, expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/service.ts'
import { decodeRequest as decode, decodeRequestStrictly as decodeStrictly } from './decode.ts'

const hello = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }

function send(message: object, rest: object = {}) {
  return decode.sendMessage({ id: 't-1', message: { ...hello, ...message }, ...rest })
}

function partsOf(...parts: readonly unknown[]) {
  return send({ parts }).message.parts
}

function problemOf(operation: Operation, params: unknown, decoder = decodeStrictly): string {
  try {
    decoder[operation](params)
  } catch (error) {
    if (!(error instanceof A2AError)) throw error
    expect(error.code).toBe('invalid-params')
    return error.message
  }
  throw new Error('expected an error')
}

function problemOfPart(part: unknown): string {
  return problemOf('sendMessage', { id: 't-1', message: { ...hello, parts: [part] } })
}

describe('a sent message', () => {
  it('begins or continues the task of the id that its caller chose', () => {
    const request = send({})
    expect(request).toEqual({
      alias: 't-1',
      message: { messageId: request.message.messageId, role: 'user', parts: [{ text: 'hi' }] },
      configuration: { historyLength: 0, blockFor: 30_000 },
    })
  })

  it('is read from its fullest form', () => {
    const request = send(
      { metadata: { trace: 'x' } },
      {
        sessionId: 's-1',
        pushNotification: { url: 'https://h', token: 'k' },
        historyLength: 3,
        acceptedOutputModes: ['text/plain'],
        metadata: { k: 1 },
      },
    )
    expect(request).toEqual({
      alias: 't-1',
      message: {
        messageId: request.message.messageId,
        role: 'user',
        parts: [{ text: 'hi' }],
        contextId: 's-1',
        metadata: { trace: 'x' },
      },
      configuration: {
        historyLength: 3,
        acceptedOutputModes: ['text/plain'],
        push: { url: 'https://h', token: 'k' },
        blockFor: 30_000,
      },
      metadata: { k: 1 },
    })
  })

  it('is never taken for an earlier one that says the same', () => {
    expect(send({}).message.messageId).not.toBe(send({}).message.messageId)
  })

  it('takes null for what is not there', () => {
    const nothing = { sessionId: null, pushNotification: null, historyLength: null, metadata: null }
    const part = { type: 'file', file: { uri: 'https://f', bytes: null, name: null, mimeType: null }, metadata: null }
    expect(send({ metadata: null, parts: [part] }, nothing)).toMatchObject({
      message: { parts: [{ url: 'https://f' }] },
      configuration: { historyLength: 0 },
    })
  })

  it('is waited for only if it is not to be streamed', () => {
    expect(decode.streamMessage({ id: 't-1', message: hello }).configuration).toEqual({ historyLength: 0 })
  })

  it('must have its required members', () => {
    expect(problemOf('sendMessage', undefined)).toBe('id: expected a string of 1 to 256 characters, got nothing')
    expect(problemOf('sendMessage', { id: 't' })).toBe('message: expected an object, got nothing')
    expect(problemOf('sendMessage', { id: 't', message: { ...hello, parts: [] } })).toBe(
      'message.parts: expected a list of 1 to 1000 items, got 0',
    )
    expect(problemOf('sendMessage', { id: 't', message: hello, historyLength: -1 })).toMatch(/^historyLength: /)
  })

  it('names the field of a push config that is wrong, and shows no secret', () => {
    const pushNotification = { url: 'https://h', authentication: 'Bearer s3cret' }
    expect(problemOf('sendMessage', { id: 't', message: hello, pushNotification })).toBe(
      'pushNotification.authentication: expected an object, got a string',
    )
  })
})

describe('a part', () => {
  it('is a text, a file by its bytes or its address, or data', () => {
    expect(
      partsOf(
        { type: 'text', text: '', metadata: { a: null } },
        { type: 'file', file: { name: 'a.png', mimeType: 'image/png', bytes: '__77' }, metadata: {} },
        { type: 'file', file: { uri: 'https://f', bytes: null } },
        { type: 'data', data: { k: 1 } },
        { type: 'data', data: [1, 2] },
      ),
    ).toEqual([
      { text: '', metadata: { a: null } },
      { raw: '//77', filename: 'a.png', mediaType: 'image/png', metadata: {} },
      { url: 'https://f' },
      { data: { k: 1 } },
      { data: [1, 2], carry: { 'v0.1': { list: true } } },
    ])
  })

  it('that only names a file is data which says so', () => {
    expect(partsOf({ type: 'file', file: { name: 'r.pdf' } })).toEqual([
      { data: { file: { name: 'r.pdf' } }, mediaType: 'application/vnd.a2a.file-reference+json' },
    ])
  })

  it('gets back what stood in its metadata for want of a place', () => {
    expect(
      partsOf(
        { type: 'text', text: 'x', metadata: { 'a2a.mediaType': 'text/markdown', 'a2a.filename': 'x.md', own: 1 } },
        { type: 'data', data: { value: [1, 2] }, metadata: { data_part_compat: true } },
        { type: 'data', data: { value: 1 } },
        { type: 'data', data: { value: {} }, metadata: { data_part_compat: true } },
      ),
    ).toEqual([
      { text: 'x', mediaType: 'text/markdown', filename: 'x.md', metadata: { own: 1 } },
      { data: [1, 2] },
      { data: { value: 1 } },
      { data: { value: {} }, metadata: { data_part_compat: true } },
    ])
  })

  it('is refused if it is not one', () => {
    const place = 'message.parts[0]'
    expect(problemOfPart({ type: 'image' })).toBe(
      `${place}: expected "type" to be one of text, file, data, got "image"`,
    )
    expect(problemOfPart({ type: 'file', file: { bytes: 'aGk=', uri: 'https://f' } })).toBe(
      `${place}.file: expected bytes or uri, got both`,
    )
    expect(problemOfPart({ type: 'data', data: 5 })).toBe(`${place}.data: expected an object or a list, got a number`)
    expect(problemOfPart('hi')).toBe(`${place}: expected an object, got a string`)
  })
})

describe('the other requests', () => {
  it('are about the task of the id that the caller chose', () => {
    const address = { taskId: 't-1', isAlias: true }
    expect(decode.getTask({ id: 't-1' })).toEqual({ ...address, historyLength: 0 })
    expect(decode.getTask({ id: 't-1', historyLength: 2 })).toEqual({ ...address, historyLength: 2 })
    expect(decode.cancelTask({ id: 't-1', metadata: { why: 'x' } })).toEqual({
      ...address,
      metadata: { why: 'x' },
    })
    expect(decode.subscribeToTask({ id: 't-1', historyLength: 2 })).toEqual({
      ...address,
      includeEnded: true,
      endOnAuth: true,
      carry: { 'v0.1': { historyLength: 2 } },
    })
    expect(decode.getPushConfig({ id: 't-1', metadata: { k: 1 } })).toEqual({ ...address, metadata: { k: 1 } })
  })

  it('set a push config, and keep all that was said of how to authenticate', () => {
    const authentication = { schemes: ['Bearer', 'Basic'], credentials: 's3cret', audience: 'me' }
    expect(
      decode.createPushConfig({ id: 't-1', pushNotificationConfig: { url: 'https://h', authentication } }),
    ).toEqual({
      taskId: 't-1',
      isAlias: true,
      url: 'https://h',
      authentication: { scheme: 'Bearer', credentials: 's3cret' },
      carry: { 'v0.1': { authentication: { schemes: ['Bearer', 'Basic'], audience: 'me' } } },
    })
  })

  it('cannot be of a later version', () => {
    for (const operation of ['listTasks', 'listPushConfigs', 'deletePushConfig', 'getExtendedCard'] as const) {
      expect(() => decode[operation]({})).toThrow(expect.objectContaining({ code: 'method-not-found' }))
    }
  })
})

describe('a sloppy caller', () => {
  const parts = [{ kind: 'text', text: 'hi' }, { text: 'there' }, { data: {} }]

  it('may write parts as later versions do, and speak as the agent that it is', () => {
    expect(send({ role: 'agent', parts }).message).toMatchObject({
      role: 'user',
      parts: [{ text: 'hi' }, { text: 'there' }, { data: {} }],
    })
  })

  it('may call the id of a task as later versions do', () => {
    expect(decode.getTask({ taskId: 't-1' })).toMatchObject({ taskId: 't-1' })
    expect(decode.subscribeToTask({ taskId: 't-1' })).toMatchObject({ taskId: 't-1' })
  })

  it('is refused if it must be strict', () => {
    const params = { id: 't-1', message: { ...hello, parts } }
    expect(problemOf('sendMessage', params)).toMatch(/^message\.parts\[0\]: expected "type" to be one of/)
    expect(problemOf('sendMessage', { id: 't-1', message: { ...hello, role: 'agent' } })).toBe(
      'message.role: expected "user", got "agent"',
    )
    expect(problemOf('getTask', { taskId: 't-1' })).toMatch(/^id: .* got nothing$/)
  })

  it('learns what is wrong with what cannot be put right', () => {
    const wrong = [{ kind: 'text' }, { type: 5 }, null, {}]
    for (const part of wrong) {
      const params = { id: 't-1', message: { ...hello, parts: [part] } }
      expect(problemOf('sendMessage', params, decode)).toMatch(/^message\.parts\[0\]/)
    }
    expect(problemOf('sendMessage', { id: 't-1', message: { role: 'agent' } }, decode)).toMatch(/^message\.parts: /)
    expect(problemOf('getTask', { taskId: 5 }, decode)).toMatch(/^id: .* got a number$/)
  })
})
