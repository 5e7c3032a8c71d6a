import { describe, expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import type { Message } from '../../protocol/model.ts'
import type { Operation } from '../../protocol/service.ts'
import { v0_1Client } from './client.ts'
import { decodeRequest as decode, decodeRequestStrictly as decodeStrictly } from './requests.ts'

describe('decodeRequest', () => {
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

  describe('sendMessage', () => {
    it('a sent message addresses the task by the id that its caller chose', () => {
      const request = send({})
      expect(request).toEqual({
        quirks: { alias: 't-1' },
        message: { messageId: request.message.messageId, role: 'user', parts: [{ text: 'hi' }] },
        configuration: { historyLength: 0, blockFor: 30_000 },
      })
    })

    it('a complete sent message is decoded', () => {
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
        quirks: { alias: 't-1' },
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

    it('two sent messages with the same content have different ids', () => {
      expect(send({}).message.messageId).not.toBe(send({}).message.messageId)
    })

    it('null counts as absent', () => {
      const nothing = { sessionId: null, pushNotification: null, historyLength: null, metadata: null }
      const part = { type: 'file', file: { uri: 'https://f', bytes: null, name: null, mimeType: null }, metadata: null }
      expect(send({ metadata: null, parts: [part] }, nothing)).toMatchObject({
        message: { parts: [{ url: 'https://f' }] },
        configuration: { historyLength: 0 },
      })
    })

    it('only a send without a stream blocks', () => {
      expect(decode.streamMessage({ id: 't-1', message: hello }).configuration).toEqual({ historyLength: 0 })
    })

    it('a sent message must have its required members', () => {
      expect(problemOf('sendMessage', undefined)).toBe('id: expected a string of 1 to 256 characters, got nothing')
      expect(problemOf('sendMessage', { id: 't' })).toBe('message: expected an object, got nothing')
      expect(problemOf('sendMessage', { id: 't', message: { ...hello, parts: [] } })).toBe(
        'message.parts: expected a list of 1 to 1000 items, got 0',
      )
      expect(problemOf('sendMessage', { id: 't', message: hello, historyLength: -1 })).toMatch(/^historyLength: /)
    })

    it('an error in a push config names the field and shows no secret', () => {
      const pushNotification = { url: 'https://h', authentication: 'Bearer s3cret' }
      expect(problemOf('sendMessage', { id: 't', message: hello, pushNotification })).toBe(
        'pushNotification.authentication: expected an object, got a string',
      )
    })
  })

  describe('a part', () => {
    it('a part is text, a file by bytes or URI, or data', () => {
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

    it('a part that only names a file becomes data with its own media type', () => {
      expect(partsOf({ type: 'file', file: { name: 'r.pdf' } })).toEqual([
        { data: { file: { name: 'r.pdf' } }, mediaType: 'application/vnd.a2a.file-reference+json' },
      ])
    })

    it('annotations of a part are read from its metadata', () => {
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

    it('a malformed part is rejected', () => {
      const path = 'message.parts[0]'
      expect(problemOfPart({ type: 'image' })).toBe(
        `${path}: expected "type" to be one of text, file, data, got "image"`,
      )
      expect(problemOfPart({ type: 'file', file: { bytes: 'aGk=', uri: 'https://f' } })).toBe(
        `${path}.file: expected bytes or uri, got both`,
      )
      expect(problemOfPart({ type: 'data', data: 5 })).toBe(`${path}.data: expected an object or a list, got a number`)
      expect(problemOfPart('hi')).toBe(`${path}: expected an object, got a string`)
    })
  })

  describe('the other operations', () => {
    it('the other operations address the task by the id that the caller chose', () => {
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
        quirks: { endOnAuth: true },
        carry: { 'v0.1': { historyLength: 2 } },
      })
      expect(decode.getPushConfig({ id: 't-1', metadata: { k: 1 } })).toEqual({
        ...address,
        metadata: { k: 1 },
        mayBeMissing: true,
      })
    })

    it('a new push config keeps all members of its authentication', () => {
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

    it('operations of later versions are rejected', () => {
      for (const operation of ['listTasks', 'listPushConfigs', 'deletePushConfig', 'getExtendedCard'] as const) {
        expect(() => decode[operation]({})).toThrow(expect.objectContaining({ code: 'method-not-found' }))
      }
    })
  })

  describe('leniency', () => {
    const parts = [{ kind: 'text', text: 'hi' }, { text: 'there' }, { data: {} }]

    it('parts of later versions and the role of the agent are accepted', () => {
      expect(send({ role: 'agent', parts }).message).toMatchObject({
        role: 'user',
        parts: [{ text: 'hi' }, { text: 'there' }, { data: {} }],
      })
    })

    it('the id of a task may be called taskId', () => {
      expect(decode.getTask({ taskId: 't-1' })).toMatchObject({ taskId: 't-1' })
      expect(decode.subscribeToTask({ taskId: 't-1' })).toMatchObject({ taskId: 't-1' })
    })

    it('the strict decoder rejects deviations', () => {
      const params = { id: 't-1', message: { ...hello, parts } }
      expect(problemOf('sendMessage', params)).toMatch(/^message\.parts\[0\]: expected "type" to be one of/)
      expect(problemOf('sendMessage', { id: 't-1', message: { ...hello, role: 'agent' } })).toBe(
        'message.role: expected "user", got "agent"',
      )
      expect(problemOf('getTask', { taskId: 't-1' })).toMatch(/^id: .* got nothing$/)
    })

    it('an error in params that cannot be cleaned names the field', () => {
      const wrong = [{ kind: 'text' }, { type: 5 }, null, {}]
      for (const part of wrong) {
        const params = { id: 't-1', message: { ...hello, parts: [part] } }
        expect(problemOf('sendMessage', params, decode)).toMatch(/^message\.parts\[0\]/)
      }
      expect(problemOf('sendMessage', { id: 't-1', message: { role: 'agent' } }, decode)).toMatch(/^message\.parts: /)
      expect(problemOf('getTask', { taskId: 5 }, decode)).toMatch(/^id: .* got a number$/)
    })
  })
})

describe('decodeResult and decodeEvent', () => {
  const { decodeResult: decode, decodeEvent } = v0_1Client

  const timestamp = '2025-05-01T08:00:00.000Z'
  const request = { taskId: 't-1' }
  const agentMessage = (text: string) => ({ role: 'agent', parts: [{ type: 'text', text }] })

  function task(members: object) {
    return decode.getTask({ id: 't-1', sessionId: 's-1', status: { state: 'working', timestamp }, ...members }, request)
  }

  function state(spelling: string, metadata?: object) {
    const { status, metadata: rest } = task({ status: { state: spelling, timestamp }, metadata })
    return [status.state, rest]
  }

  describe('a task', () => {
    it('a task has its session as the context, and artifact ids from their indexes', () => {
      expect(
        task({
          status: { state: 'completed', timestamp: '2025-05-01T08:00:00.123456', message: null },
          artifacts: [{ parts: [] }, { name: 'b', parts: [], index: 4, lastChunk: true, metadata: { k: 1 } }],
          metadata: { k: 2 },
        }),
      ).toEqual({
        id: 't-1',
        contextId: 's-1',
        history: [],
        status: { state: 'completed', timestamp: '2025-05-01T08:00:00.123Z' },
        metadata: { k: 2 },
        artifacts: [
          { artifactId: 'artifact-0', parts: [], carry: { 'v0.1': { index: null } } },
          {
            artifactId: 'artifact-4',
            name: 'b',
            parts: [],
            metadata: { k: 1 },
            carry: { 'v0.1': { index: 4, lastChunk: true } },
          },
        ],
        generation: 0,
      })
    })

    it('a task without a session has that of the request, or is its own session', () => {
      const wire = { id: 't-1', status: { state: 'working' } }
      const message: Message = { messageId: 'm', role: 'user', parts: [], contextId: 's-2' }
      expect(decode.getTask(wire, request).contextId).toBe('t-1')
      expect(decode.sendMessage(wire, { message })).toMatchObject({ type: 'task', task: { contextId: 's-2' } })
    })

    it('messages have stable and distinct ids', () => {
      const history = [agentMessage('a'), agentMessage('a'), agentMessage('b')]
      const status = { state: 'working', timestamp, message: agentMessage('a') }
      const read = () => {
        const { history: past, status: now } = task({ history, status })
        return [...past, now.message].map((message) => message?.messageId)
      }
      expect(read()).toEqual(read())
      expect(new Set(read()).size).toBe(4)
      for (const id of read()) expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-8[\da-f]{3}-[\da-f]{12}$/)
      expect(task({ history: history.slice(1) }).history[0]?.messageId).toBe(read()[0])
      expect(task({ id: 't-2', history }).history[0]?.messageId).not.toBe(read()[0])
      expect(task({ history }).history[0]).toMatchObject({ taskId: 't-1', contextId: 's-1' })
    })

    it('a state that 0.1 does not have is read from the metadata', () => {
      expect(state('failed', { 'a2a.state': 'TASK_STATE_REJECTED', k: 1 })).toEqual(['rejected', { k: 1 }])
      expect(state('input-required', { 'a2a.state': 'TASK_STATE_AUTH_REQUIRED' })).toEqual(['auth-required', undefined])
      expect(state('working', { 'a2a.state': 'TASK_STATE_REJECTED' })).toEqual([
        'working',
        { 'a2a.state': 'TASK_STATE_REJECTED' },
      ])
    })

    it('a task in the state unknown has ended, and one in an undefined state is working', () => {
      expect(state('unknown')).toEqual(['unknown', undefined])
      expect(state('resting')).toEqual(['working', undefined])
    })

    it('other spellings of a state are accepted', () => {
      const spellings = ['cancelled', 'INPUT_REQUIRED', 'auth_required', 'rejected', 'pending', 'Running']
      expect(spellings.map((spelling) => state(spelling)[0])).toEqual([
        'canceled',
        'input-required',
        'auth-required',
        'rejected',
        'submitted',
        'working',
      ])
    })

    it('a malformed task is an invalid agent response', () => {
      const problem = (wire: unknown) => {
        try {
          decode.getTask(wire, request)
        } catch (error) {
          if (error instanceof A2AError) return [error.code, error.message]
        }
      }
      expect(problem({ id: 't', status: {} })).toEqual([
        'invalid-agent-response',
        expect.stringMatching(/^status\.state: expected one of submitted, .* got nothing$/),
      ])
      expect(problem(null)).toEqual(['invalid-agent-response', 'result: expected an object, got null'])
    })
  })

  describe('an event', () => {
    const ref = { taskId: 't-1', contextId: 's-2', generation: 0 }
    const send = { message: { messageId: 'm', role: 'user', parts: [], contextId: 's-2' } } as const

    it('a status update is the last event if it is final', () => {
      const wire = { id: 't-1', status: { state: 'completed', timestamp }, metadata: { k: 1 } }
      const event = { type: 'status', ...ref, status: { state: 'completed', timestamp }, metadata: { k: 1 } }
      expect(decodeEvent(wire, send)).toEqual(event)
      expect(decodeEvent({ ...wire, final: true, artifact: null }, send)).toEqual({ ...event, isLast: true })
    })

    it('an artifact update has the artifact of its index, or else the first', () => {
      const wire = { id: 't-1', artifact: { parts: [], index: 2, append: true, lastChunk: false }, final: false }
      expect(decodeEvent(wire, send)).toEqual({
        type: 'artifact',
        ...ref,
        artifact: { artifactId: 'artifact-2', parts: [], carry: { 'v0.1': { index: 2 } } },
        append: true,
        lastChunk: false,
      })
      expect(decodeEvent({ id: 't-1', artifact: { parts: [] } }, request)).toMatchObject({
        artifact: { artifactId: 'artifact-0' },
        contextId: 't-1',
      })
    })
  })

  describe('a push config', () => {
    it('a push config belongs to its task', () => {
      const wire = { id: 't-1', pushNotificationConfig: { url: 'https://h', token: 'k' } }
      expect(decode.getPushConfig(wire, request)).toEqual({ taskId: 't-1', url: 'https://h', token: 'k' })
    })

    it('a push config that was never set is not found', () => {
      for (const pushNotificationConfig of [null, {}]) {
        expect(() => decode.getPushConfig({ id: 't-1', pushNotificationConfig }, request)).toThrow(
          expect.objectContaining({ code: 'task-not-found' }),
        )
      }
    })
  })
})
