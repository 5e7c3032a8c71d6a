import { describe, expect, it } from 'vitest'
import { clientTools, toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import { v0_3HouseClient } from './client.ts'
import { v0_3House, v0_3HouseStrict } from './server.ts'

describe('decodeRequest', () => {
  const { decodeRequest } = v0_3House

  function send(message: object) {
    const hello = { kind: 'message', messageId: 'm-1', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
    return decodeRequest.sendMessage({ message: { ...hello, ...message } }).message
  }

  const answer = { kind: 'tool-result', toolUseId: 'input-1', result: { value: 'secret' } }

  describe('a tool part', () => {
    it('a tool part becomes data with its own media type', () => {
      const use = { kind: 'tool-use', toolUseId: 'u-1', name: 'search', arguments: { query: 'cats' } }
      expect(send({ parts: [use, { ...answer, isError: true, metadata: { took: 3 } }] }).parts).toEqual([
        { data: { toolUseId: 'u-1', name: 'search', arguments: { query: 'cats' } }, mediaType: toolUse },
        {
          data: { toolUseId: 'input-1', result: { value: 'secret' }, isError: true },
          mediaType: toolResult,
          metadata: { took: 3 },
        },
      ])
    })

    it('an error in a tool part names the member, but not its value', () => {
      const problem = 'message.parts[1].toolUseId: expected a string of 1 to 256 characters, got nothing'
      const parts = [
        { kind: 'text', text: 'Here:' },
        { kind: 'tool-result', result: 'secret' },
      ]
      expect(() => send({ parts })).toThrow(problem)
    })

    it('a part of an unknown kind is rejected', () => {
      const part = { kind: 'tool-progress', percent: 40 }
      const params = { message: { kind: 'message', messageId: 'm-1', role: 'user', parts: [part] } }
      for (const decode of [decodeRequest, v0_3HouseStrict.decodeRequest]) {
        expect(() => decode.sendMessage(params)).toThrow(/^message\.parts\[0\]: expected "kind"/)
      }
    })
  })

  describe('a message', () => {
    it('a message with a tool result answers the task that it refers to', () => {
      expect(send({ parts: [answer], referenceTaskIds: ['t-1', 't-2'] })).toMatchObject({
        taskId: 't-1',
        referenceTaskIds: ['t-1', 't-2'],
      })
      expect(send({ parts: [answer], referenceTaskIds: ['t-1'], taskId: 't-3' }).taskId).toBe('t-3')
    })

    it('a message without a tool result only refers to a task', () => {
      expect(send({ referenceTaskIds: ['t-1'] }).taskId).toBeUndefined()
      expect(send({ parts: [answer] }).taskId).toBeUndefined()
    })

    it('a message with an input request has it in its metadata', () => {
      const inputRequest = { kind: 'input-request', prompt: 'Enter API key:', sensitive: true, requestId: 'input-1' }
      expect(send({ inputRequest, metadata: { k: 1 }, extensions: ['https://x'] })).toMatchObject({
        metadata: { k: 1, [clientTools]: { prompt: 'Enter API key:', sensitive: true, requestId: 'input-1' } },
        extensions: ['https://x', clientTools],
      })
      expect(() => send({ inputRequest: { kind: 'input-request', prompt: 'Enter API key:' } })).toThrow(
        'message.inputRequest.requestId: expected a string of 1 to 256 characters, got nothing',
      )
    })
  })

  it('a task is addressed by taskId or id, even in strict mode', () => {
    for (const { decodeRequest } of [v0_3House, v0_3HouseStrict]) {
      expect(decodeRequest.getTask({ taskId: 't-1', historyLength: 2 })).toEqual({
        taskId: 't-1',
        isAlias: true,
        historyLength: 2,
      })
      expect(decodeRequest.getTask({ id: 't-1' })).toEqual({ taskId: 't-1', isAlias: true })
      expect(decodeRequest.subscribeToTask({ taskId: 't-1' })).toMatchObject({ taskId: 't-1', includeEnded: true })
    }
  })
})

describe('decodeResult and decodeEvent', () => {
  const { decodeEvent, decodeResult } = v0_3HouseClient
  const address = { taskId: 't' }
  const task = {
    kind: 'task',
    id: 't',
    contextId: 'c',
    status: { state: 'started', timestamp: '2025-10-30T10:00:00Z' },
  }
  const event = (more: object) => decodeEvent({ taskId: 't', contextId: 'c', ...more }, address)

  it('a started task is submitted', () => {
    expect(decodeEvent(task, address)).toMatchObject({ type: 'task', task: { status: { state: 'submitted' } } })
    expect(decodeResult.getTask(task, address).status.state).toBe('submitted')
    expect(event({ kind: 'status-update', status: { state: 'started' }, final: false })).toMatchObject({
      status: { state: 'submitted' },
    })
  })

  it('an artifact chunk with an index becomes an artifact update', () => {
    const chunk = (append: boolean) => ({ kind: 'text', text: 'Result', index: 0, append })
    const update = { kind: 'artifact-update', index: 2, timestamp: '2025-10-30T10:00:00Z' }
    expect(event({ ...update, part: chunk(false) })).toEqual({
      type: 'artifact',
      taskId: 't',
      contextId: 'c',
      artifact: { artifactId: 'artifact-2', parts: [{ text: 'Result' }] },
      append: false,
      generation: 0,
    })
    expect(event({ ...update, part: chunk(true) })).toMatchObject({ append: true })
    expect(() => event({ ...update, part: 'Result' })).toThrow('part: expected an object, got a string')
  })

  it('an input request of a status message becomes metadata', () => {
    const inputRequest = { kind: 'input-request', prompt: 'Enter API key:', sensitive: true, requestId: 'input-1' }
    const message = { kind: 'message', role: 'agent', messageId: 'm', parts: [], inputRequest }
    expect(event({ kind: 'status-update', status: { state: 'input-required', message }, final: false })).toMatchObject({
      status: { message: { metadata: { [clientTools]: { requestId: 'input-1' } }, extensions: [clientTools] } },
    })
    const broken = { ...message, inputRequest: { kind: 'input-request', requestId: 7 } }
    expect(() => event({ kind: 'status-update', status: { state: 'input-required', message: broken } })).toThrow(
      'status.message.inputRequest.requestId: expected a string of 1 to 256 characters, got a number',
    )
  })

  it('a wrapped REST response is unwrapped', () => {
    for (const wrapped of [task, { jsonrpc: '2.0', id: 1, result: task }, { task }]) {
      expect(decodeEvent(wrapped, address)).toMatchObject({ type: 'task', task: { id: 't' } })
    }
    const update = { kind: 'status-update', taskId: 't', contextId: 'c', status: { state: 'working' }, final: false }
    expect(decodeEvent({ statusUpdate: update }, address)).toMatchObject({ type: 'status', taskId: 't' })
  })
})
