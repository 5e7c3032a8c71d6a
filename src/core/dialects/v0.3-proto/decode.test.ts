import { describe, expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import type { Operation, SendRequest } from '../../protocol/service.ts'
import { v0_3ProtoClient } from './client.ts'
import { v0_3Proto, v0_3ProtoStrict } from './server.ts'

describe('decodeRequest', () => {
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

  describe('sendMessage', () => {
    it('a minimal sent message is decoded', () => {
      expect(decodeStrictly.sendMessage({ message: hello })).toMatchObject({
        message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] },
      })
    })

    it('a complete sent message is decoded', () => {
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

    it('a send blocks if its configuration has blocking, or if there is no configuration', () => {
      const wish = (configuration?: object) =>
        decode.sendMessage({ message: hello, configuration }).configuration?.returnImmediately
      expect([wish(), wish({}), wish({ blocking: true }), wish({ blocking: false })]).toEqual([
        undefined,
        true,
        false,
        true,
      ])
    })

    it('an error in a sent message names the field, and the other form of A2A that it resembles', () => {
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
      expect(problemOf('sendMessage', { message: both })).toMatch(
        /^message\.content\[0\]\.file: expected exactly one of/,
      )
    })
  })

  describe('leniency', () => {
    const clean = decodeStrictly.sendMessage({ message: hello })

    it('other names of the message and its content are accepted', () => {
      const { content, messageId, role } = hello
      const lenient = [
        { request: { message_id: messageId, role, content } },
        { message: { messageId, role: 1, parts: content } },
        { message: { ...hello, role: 'ROLE_AGENT' } },
      ]
      for (const params of lenient) {
        expect(decode.sendMessage(params)).toEqual(clean)
        expect(problemOf('sendMessage', params)).toMatch(/^message/)
      }
    })

    it('other names of a push config are accepted', () => {
      for (const name of ['pushNotificationConfig', 'push_notification_config']) {
        const params = { message: hello, configuration: { [name]: { url: 'https://h' } } }
        expect(decode.sendMessage(params).configuration?.push).toEqual({ url: 'https://h' })
        expect(decodeStrictly.sendMessage(params).configuration?.push).toBeUndefined()
      }
    })

    it('other names of file content, and data without a wrapper, are accepted', () => {
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

    it('the parts of other dialects are rejected', () => {
      const message = { ...hello, role: 'user' }
      expect(problemOf('sendMessage', { message }, v0_3Proto)).toContain('"user" looks like A2A 0.3 over JSON-RPC')
    })
  })

  describe('the other operations', () => {
    it('a task is addressed by its resource name', () => {
      expect(decode.getTask({ name: 'tasks/t', history_length: '3' })).toEqual({ taskId: 't', historyLength: 3 })
      expect(decode.cancelTask({ name: 'tasks/a/b' })).toEqual({ taskId: 'a/b' })
      expect(decode.subscribeToTask({ name: 'tasks/t' })).toEqual({ taskId: 't', includeEnded: true })
      expect(problemOf('getTask', { name: 't' })).toBe('name: expected a name such as tasks/{id}, got "t"')
      expect(problemOf('getTask', {})).toBe('name: expected a name such as tasks/{id}, got nothing')
      expect(problemOf('getTask', { name: `tasks/${'x'.repeat(257)}` })).toMatch(/^name: expected a string of 1 to 256/)
    })

    it('a push config is addressed by its resource name', () => {
      const name = 'tasks/t/pushNotificationConfigs/c'
      expect(decode.getPushConfig({ name })).toEqual({ taskId: 't', id: 'c' })
      expect(decode.deletePushConfig({ name })).toEqual({ taskId: 't', id: 'c' })
      expect(problemOf('getPushConfig', { name: 'tasks/t' })).toMatch(
        /^name: expected a name such as tasks\/\{id\}\/push/,
      )
      expect(decode.listPushConfigs({ parent: 'tasks/t', page_size: 5 })).toEqual({ taskId: 't', pageSize: 5 })
    })

    it('a new push config has its id in one of several members', () => {
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

    it('a list of tasks accepts both spellings of canceled', () => {
      const lenient = { status: 'TASK_STATE_CANCELED', lastUpdatedAfter: '2026-05-01T08:00:00' }
      expect(decode.listTasks(lenient)).toEqual({ state: 'canceled', statusSince: '2026-05-01T08:00:00.000Z' })
      expect(decode.listTasks({ status: 'TASK_STATE_CANCELLED' })).toEqual({ state: 'canceled' })
      expect(problemOf('listTasks', lenient)).toMatch(/^status: expected one of TASK_STATE_SUBMITTED/)
    })
  })
})

describe('decodeResult and decodeEvent', () => {
  const { decodeResult: decode, decodeEvent } = v0_3ProtoClient

  const send: SendRequest = { message: { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] } }
  const address = { taskId: 'T' }
  const timestamp = '2025-09-01T08:00:00.000Z'

  const task = {
    id: 'T',
    contextId: 'C',
    status: {
      state: 'TASK_STATE_INPUT_REQUIRED',
      timestamp,
      message: { messageId: 'm-2', role: 'ROLE_AGENT', content: [{ text: 'Which?' }] },
    },
    artifacts: [{ artifactId: 'A', parts: [{ file: { fileWithUri: 'https://f' } }, { data: { data: { k: 1 } } }] }],
    history: [{ messageId: 'm-1', role: 'ROLE_USER', content: [{ text: 'hi' }] }],
  }

  const taskInTheModel = {
    id: 'T',
    contextId: 'C',
    status: {
      state: 'input-required',
      timestamp,
      message: { messageId: 'm-2', role: 'agent', parts: [{ text: 'Which?' }] },
    },
    artifacts: [{ artifactId: 'A', parts: [{ url: 'https://f' }, { data: { k: 1 } }] }],
    history: [{ messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }] }],
    generation: 0,
  }

  /** The same task in the JSON of JSON-RPC. */
  const kindTask = {
    kind: 'task',
    id: 'T',
    contextId: 'C',
    status: {
      state: 'input-required',
      timestamp,
      message: { kind: 'message', messageId: 'm-2', role: 'agent', parts: [{ kind: 'text', text: 'Which?' }] },
    },
    artifacts: [
      {
        artifactId: 'A',
        parts: [
          { kind: 'file', file: { uri: 'https://f' } },
          { kind: 'data', data: { k: 1 } },
        ],
      },
    ],
    history: [{ kind: 'message', messageId: 'm-1', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }],
  }

  describe('a result', () => {
    it('a result is decoded in all four styles of 0.3 over REST', () => {
      const snake = { ...task, context_id: 'C', contextId: undefined }
      for (const result of [{ task }, { task: snake }, kindTask, { task: kindTask }]) {
        expect(decode.sendMessage(result, send)).toEqual({ type: 'task', task: taskInTheModel })
      }
      for (const result of [task, kindTask]) expect(decode.getTask(result, address)).toEqual(taskInTheModel)
    })

    it('a result with the names of 0.2 is decoded', () => {
      const { message, ...status } = task.status
      expect(decode.getTask({ ...task, status: { ...status, update: message } }, address)).toEqual(taskInTheModel)
      expect(decode.sendMessage({ msg: message }, send)).toEqual({
        type: 'message',
        message: taskInTheModel.status.message,
      })
    })

    it('a message without an id and a role is decoded', () => {
      expect(decode.sendMessage({ message: { content: [{ text: 'x' }] } }, send)).toEqual({
        type: 'message',
        message: { messageId: '', role: 'agent', parts: [{ text: 'x' }] },
      })
    })

    it('other spellings of a state, and a timestamp without a zone, are accepted', () => {
      const spellings = {
        TASK_STATE_CANCELED: 'canceled',
        cancelled: 'canceled',
        'Input-Required': 'input-required',
        auth_required: 'auth-required',
        pending: 'submitted',
        running: 'working',
      }
      for (const [state, read] of Object.entries(spellings)) {
        const status = { state, timestamp: '2025-09-01T08:00:00' }
        expect(decode.getTask({ ...task, status }, address).status).toEqual({ state: read, timestamp })
      }
    })

    it('a task in an unknown state is decoded', () => {
      for (const status of [{}, { state: 0 }, { state: 'TASK_STATE_UNSPECIFIED' }, { state: 'unknown' }]) {
        expect(decode.getTask({ ...task, status }, address).status).toMatchObject({ state: 'unknown' })
      }
    })

    it('a list result may be a bare list', () => {
      expect(decode.listTasks([task], {})).toMatchObject({ tasks: [taskInTheModel], totalSize: 1, nextPageToken: '' })
      const config = { taskId: 'T', pushNotificationConfig: { id: 'c', url: 'https://h' } }
      const { configs } = decode.listPushConfigs([config], address)
      expect(configs).toEqual([{ taskId: 'T', id: 'c', url: 'https://h' }])
      expect(decode.listPushConfigs({}, address)).toEqual({ configs: [], nextPageToken: '' })
    })

    it('a malformed result is rejected with the field, the expected and the actual value', () => {
      const wrong = { task: { ...task, status: { state: 'asleep' } } }
      expect(() => decode.sendMessage(wrong, send)).toThrow(
        expect.objectContaining({
          code: 'invalid-agent-response',
          message: expect.stringMatching(/^task\.status\.state: expected one of .*, got "TASK_STATE_ASLEEP"$/),
        }),
      )
      expect(() => decode.getPushConfig({ name: 'c' }, address)).toThrow('name: expected a name such as tasks/{id}/')
    })
  })

  describe('an event', () => {
    const ref = { taskId: 'T', contextId: 'C' }
    const status = { state: 'TASK_STATE_COMPLETED', timestamp }

    it('an event is the last one if the agent marks it as final', () => {
      const read = { type: 'status', ...ref, status: { state: 'completed', timestamp }, generation: 0 }
      expect(decodeEvent({ statusUpdate: { ...ref, status, final: true } }, send)).toEqual({ ...read, isLast: true })
      expect(decodeEvent({ statusUpdate: { ...ref, status } }, send)).toEqual(read)
      const message = { messageId: 'm', role: 'ROLE_AGENT', content: [] }
      expect(decodeEvent({ message }, send)).toMatchObject({ type: 'message', isLast: true })
    })

    it('an event in the JSON of JSON-RPC is decoded', () => {
      expect(
        decodeEvent({ kind: 'status-update', ...ref, status: { state: 'completed' }, final: true }, send),
      ).toMatchObject({ type: 'status', status: { state: 'completed' }, isLast: true })
      const artifact = { artifactId: 'A', parts: [{ kind: 'file', file: { bytes: '//77' } }] }
      expect(decodeEvent({ kind: 'artifact-update', ...ref, artifact, append: true }, send)).toMatchObject({
        type: 'artifact',
        artifact: { parts: [{ raw: '//77' }] },
        append: true,
      })
    })
  })
})
