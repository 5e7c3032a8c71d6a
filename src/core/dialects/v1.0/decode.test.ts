import { describe, expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import type { Operation, SendRequest } from '../../protocol/service.ts'
import { v1_0Client } from './client.ts'
import { decodeRequest as decode } from './requests.ts'

describe('decodeRequest', () => {
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

  describe('sendMessage', () => {
    it('a minimal sent message is decoded', () => {
      expect(send({})).toStrictEqual({ message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] } })
    })

    it('a complete sent message is decoded', () => {
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

    it('unknown members are ignored, including those of older versions', () => {
      const parts = [{ kind: 'text', text: 'hi' }]
      expect(send({ kind: 'message', parts }, { configuration: { blocking: true } })).toStrictEqual({
        message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] },
        configuration: {},
      })
    })

    it('proto3 defaults count as unset', () => {
      const message = { contextId: '', taskId: null, referenceTaskIds: [], extensions: [], metadata: null }
      const configuration = { returnImmediately: false, acceptedOutputModes: [], historyLength: null }
      expect(send(message, { tenant: '', configuration })).toStrictEqual({
        message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] },
        configuration: {},
      })
    })

    it('a sent message must have its required members', () => {
      expect(problemOf('sendMessage', undefined)).toBe('message: expected an object, got nothing')
      expect(problemOf('sendMessage', { message: {} })).toMatch(
        /^message\.messageId: expected a string .* got nothing$/,
      )
      expect(problemOf('sendMessage', { message: { ...hello, messageId: '' } })).toMatch(
        /^message\.messageId: .* got 0$/,
      )
      expect(problemOf('sendMessage', { message: { ...hello, role: 'ROLE_UNSPECIFIED' } })).toBe(
        'message.role: expected one of ROLE_USER, ROLE_AGENT, got "ROLE_UNSPECIFIED"',
      )
      expect(problemOf('sendMessage', { message: { ...hello, parts: [] } })).toBe(
        'message.parts: expected a list of 1 to 1000 items, got 0',
      )
    })

    it('a sent message must not have the role of the agent', () => {
      expect(problemOf('sendMessage', { message: { ...hello, role: 'ROLE_AGENT' } })).toMatch(
        /^message\.role: expected ROLE_USER, got ROLE_AGENT/,
      )
    })

    it('a sent message has at most 1000 parts', () => {
      const parts = (count: number) => Array.from({ length: count }, () => ({ text: 'x' }))
      expect(send({ parts: parts(1000) }).message.parts).toHaveLength(1000)
      expect(problemOf('sendMessage', { message: { ...hello, parts: parts(1001) } })).toMatch(
        /^message\.parts: .*1001$/,
      )
    })

    it('a negative history length is rejected', () => {
      expect(problemOf('sendMessage', { message: hello, configuration: { historyLength: -1 } })).toMatch(
        /^configuration\.historyLength: expected an integer from 0 to 2147483647, got -1$/,
      )
    })

    it('an error in a push config names the field and shows no secret', () => {
      const taskPushNotificationConfig = { url: 'https://h', authentication: 'Bearer s3cret' }
      expect(problemOf('sendMessage', { message: hello, configuration: { taskPushNotificationConfig } })).toBe(
        'configuration.taskPushNotificationConfig.authentication: expected an object, got a string',
      )
    })
  })

  describe('a part', () => {
    it('a part has exactly one content', () => {
      const one = 'message.parts[0]: expected exactly one of text, raw, url, data, got'
      expect(problemOfPart({})).toBe(`${one} none of them`)
      expect(problemOfPart({ text: null })).toBe(`${one} none of them`)
      expect(problemOfPart({ text: 'a', data: null })).toBe(`${one} text and data`)
    })

    it('the content of a part must have the right type', () => {
      expect(problemOfPart({ raw: 7 })).toBe('message.parts[0].raw: expected base64, got a number')
      expect(problemOfPart({ text: ['a'] })).toBe('message.parts[0].text: expected a string, got a list')
      expect(problemOfPart({ text: 'a', metadata: [] })).toBe(
        'message.parts[0].metadata: expected an object, got a list',
      )
      expect(problemOfPart('hi')).toBe('message.parts[0]: expected an object, got a string')
    })

    it('a part of an older version is rejected with a hint', () => {
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

  describe('the other operations', () => {
    it('a task is addressed by its id', () => {
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

    it('tasks are listed with and without filters', () => {
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

    it('an invalid filter is rejected', () => {
      expect(problemOf('listTasks', { pageSize: 150 })).toBe('pageSize: expected an integer from 1 to 100, got 150')
      expect(problemOf('listTasks', { pageSize: 0 })).toMatch(/^pageSize: /)
      expect(problemOf('listTasks', { historyLength: -1 })).toMatch(/^historyLength: /)
      expect(problemOf('listTasks', { status: 'working' })).toMatch(/^status: expected one of TASK_STATE_SUBMITTED, /)
      expect(problemOf('listTasks', { statusTimestampAfter: '2026-05-01T10:00:00' })).toMatch(/^statusTimestampAfter: /)
    })

    it('push configs are created, read, listed and deleted', () => {
      const config = {
        taskId: 't',
        url: 'https://h',
        token: 'k',
        authentication: { scheme: 'Basic', credentials: 'c' },
      }
      expect(decode.createPushConfig({ ...config, id: '' })).toStrictEqual(config)
      expect(problemOf('createPushConfig', { url: 'https://h' })).toMatch(/^taskId: /)
      expect(decode.getPushConfig({ task_id: 't', id: 'p' })).toStrictEqual({ taskId: 't', id: 'p' })
      expect(decode.deletePushConfig({ taskId: 't', id: 'p' })).toStrictEqual({ taskId: 't', id: 'p' })
      expect(problemOf('getPushConfig', { taskId: 't' })).toMatch(/^id: /)
      expect(decode.listPushConfigs({ taskId: 't', pageSize: 0 })).toStrictEqual({ taskId: 't' })
    })

    it('the extended card is requested without params', () => {
      expect(decode.getExtendedCard(undefined)).toStrictEqual({})
    })

    it('params must be an object', () => {
      for (const operation of Object.keys(decode) as Operation[]) {
        for (const params of [null, [], 'x', 5]) {
          expect(problemOf(operation, params)).toMatch(/^params: expected an object, got /)
        }
      }
    })
  })
})

describe('decodeResult and decodeEvent', () => {
  const { decodeResult: decode, decodeEvent } = v1_0Client

  const send: SendRequest = { message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] } }
  const address = { taskId: 'T' }
  const timestamp = '2026-05-01T08:00:00.000Z'
  const bare = { id: 'T', contextId: 'C', status: { state: 'TASK_STATE_WORKING', timestamp } }
  const bareInTheModel = {
    id: 'T',
    contextId: 'C',
    status: { state: 'working', timestamp },
    artifacts: [],
    history: [],
    generation: 0,
  }
  const reply = { messageId: 'm-2', role: 'ROLE_AGENT', parts: [{ text: 'done' }] }

  function problemOf(read: () => unknown): string {
    try {
      read()
    } catch (error) {
      if (!(error instanceof A2AError)) throw error
      expect(error.code).toBe('invalid-agent-response')
      expect(error.violations).toEqual([])
      return error.message
    }
    throw new Error('expected an error')
  }

  describe('a result', () => {
    it('a send result is a task or a message, by its member', () => {
      expect(decode.sendMessage({ task: bare }, send)).toEqual({ type: 'task', task: bareInTheModel })
      expect(decode.sendMessage({ message: reply }, send)).toEqual({
        type: 'message',
        message: { ...reply, role: 'agent' },
      })
      expect(problemOf(() => decode.sendMessage({}, send))).toBe(
        'result: expected exactly one of task, message, got none of them',
      )
    })

    it('a result may omit what ProtoJSON omits when it is empty', () => {
      const task = { id: 'T', status: { state: 'TASK_STATE_COMPLETED' }, artifacts: [{ artifactId: 'A' }] }
      expect(decode.getTask(task, address)).toMatchObject({ contextId: '', history: [], artifacts: [{ parts: [] }] })
      expect(decode.listTasks({}, {})).toEqual({
        tasks: [],
        nextPageToken: '',
        pageSize: 0,
        totalSize: 0,
        withArtifacts: false,
      })
      expect(decode.listPushConfigs({}, address)).toEqual({ configs: [], nextPageToken: '' })
      expect(decode.listPushConfigs(null, address)).toEqual({ configs: [], nextPageToken: '' })
      expect(decode.listTasks(null, {})).toMatchObject({ tasks: [], nextPageToken: '' })
    })

    it('a message in a result has any number of parts', () => {
      const parts = Array.from({ length: 1001 }, () => ({ text: 'x' }))
      expect(decode.sendMessage({ message: { ...reply, parts } }, send)).toMatchObject({ message: { parts } })
    })

    it('a malformed result is rejected with the field, the expected and the actual value', () => {
      expect(problemOf(() => decode.getTask(null, address))).toBe('result: expected an object, got null')
      expect(problemOf(() => decode.cancelTask({ ...bare, status: {} }, address))).toMatch(
        /^status\.state: expected one of TASK_STATE_SUBMITTED, .* got nothing$/,
      )
      const older = { ...bare, history: [{ messageId: 'm', role: 'user', parts: [] }] }
      expect(problemOf(() => decode.getTask(older, address))).toBe(
        'history[0].role: expected one of ROLE_USER, ROLE_AGENT, got "user"',
      )
    })

    it('the result of a deletion may be anything', () => {
      for (const result of [{}, null, undefined]) {
        expect(decode.deletePushConfig(result, { ...address, id: 'p' })).toBeUndefined()
      }
    })

    it('a page of tasks has whether artifacts were requested', () => {
      const page = { tasks: [bare], nextPageToken: 'n', pageSize: 1, totalSize: 2 }
      expect(decode.listTasks(page, { includeArtifacts: true })).toEqual({
        ...page,
        tasks: [bareInTheModel],
        withArtifacts: true,
      })
    })
  })

  describe('an event', () => {
    const ref = { taskId: 'T', contextId: 'C' }

    function isLast(event: object): boolean | undefined {
      return decodeEvent(event, send).isLast
    }

    it('the kind of an event is that of its member', () => {
      const artifact = { artifactId: 'A', parts: [{ text: 'a' }] }
      expect(decodeEvent({ artifactUpdate: { ...ref, artifact, append: true } }, send)).toEqual({
        type: 'artifact',
        ...ref,
        artifact,
        append: true,
        generation: 0,
      })
      expect(decodeEvent({ status_update: { ...ref, status: bare.status, metadata: { k: 1 } } }, send)).toEqual({
        type: 'status',
        ...ref,
        status: { state: 'working', timestamp },
        metadata: { k: 1 },
        generation: 0,
        isLast: false,
      })
    })

    it('an event is the last one if it is a message or the task has ended', () => {
      const ended = { state: 'TASK_STATE_FAILED' }
      expect(isLast({ message: reply })).toBe(true)
      expect(isLast({ task: { ...bare, status: ended } })).toBe(true)
      expect(isLast({ statusUpdate: { ...ref, status: ended } })).toBe(true)
      expect(isLast({ task: bare })).toBe(false)
      expect(isLast({ statusUpdate: { ...ref, status: { state: 'TASK_STATE_AUTH_REQUIRED' } } })).toBe(false)
    })
  })
})

describe('a task without a state', () => {
  it('a client reads the task as submitted, so that it polls on, and keeps what the agent sent in the metadata', () => {
    const wire = { id: 'T', contextId: 'C', status: { state: 'TASK_STATE_UNSPECIFIED' }, metadata: { a: 1 } }
    const metadata = { a: 1, 'a2a.state': 'TASK_STATE_UNSPECIFIED' }
    const read = { status: { state: 'submitted' }, metadata }
    const request = { taskId: 'T' }
    expect(v1_0Client.decodeResult.getTask(wire, request)).toMatchObject(read)
    expect(v1_0Client.decodeEvent({ task: { ...wire, status: { state: 0 } } }, request)).toMatchObject({
      task: read,
      isLast: false,
    })
    const update = { taskId: 'T', contextId: 'C', status: wire.status, metadata: wire.metadata }
    expect(v1_0Client.decodeEvent({ statusUpdate: update }, request)).toMatchObject({ ...read, isLast: false })
  })
})

it('a history with ids in snake_case, as fasta2a sends it, is read', () => {
  const message = { role: 'ROLE_USER', parts: [{ text: 'hi' }], message_id: 'm-1', task_id: 't' }
  const task = { id: 't', context_id: 'c', status: { state: 'TASK_STATE_COMPLETED' }, history: [message] }
  expect(v1_0Client.decodeResult.getTask(task, { taskId: 't' })).toMatchObject({
    contextId: 'c',
    history: [{ messageId: 'm-1' }],
  })
})
