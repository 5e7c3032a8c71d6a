import { describe, expect, it } from 'vitest'
import { clientTools, toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import { v0_3House, v0_3HouseStrict } from './server.ts'

const { decodeRequest } = v0_3House

function send(message: object) {
  const hello = { kind: 'message', messageId: 'm-1', role: 'user', parts: [{ kind: 'text', text: 'hi' }] }
  return decodeRequest.sendMessage({ message: { ...hello, ...message } }).message
}

const answer = { kind: 'tool-result', toolUseId: 'input-1', result: { value: 'secret' } }

describe('a part of a tool', () => {
  it('is data of its own media type', () => {
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

  it('says which of its members is wrong, and shows nothing of it', () => {
    const problem = 'message.parts[1].toolUseId: expected a string of 1 to 256 characters, got nothing'
    const parts = [
      { kind: 'text', text: 'Here:' },
      { kind: 'tool-result', result: 'secret' },
    ]
    expect(() => send({ parts })).toThrow(problem)
  })

  it('of an unknown kind is kept as it is, but by the strict', () => {
    const part = { kind: 'tool-progress', percent: 40 }
    const params = { message: { kind: 'message', messageId: 'm-1', role: 'user', parts: [part] } }
    expect(decodeRequest.sendMessage(params).message.parts).toMatchObject([{ data: part }])
    expect(() => v0_3HouseStrict.decodeRequest.sendMessage(params)).toThrow(/^message\.parts\[0\]: expected "kind"/)
  })
})

describe('a message', () => {
  it('answers the task that it refers to if it has the result of a tool', () => {
    expect(send({ parts: [answer], referenceTaskIds: ['t-1', 't-2'] })).toMatchObject({
      taskId: 't-1',
      referenceTaskIds: ['t-1', 't-2'],
    })
    expect(send({ parts: [answer], referenceTaskIds: ['t-1'], taskId: 't-3' }).taskId).toBe('t-3')
  })

  it('only refers to a task otherwise, as that of an agent which calls another one', () => {
    expect(send({ referenceTaskIds: ['t-1'] }).taskId).toBeUndefined()
    expect(send({ parts: [answer] }).taskId).toBeUndefined()
  })

  it('that asks for input has the request in its metadata', () => {
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

describe('a task', () => {
  it('is named by taskId or id, also for the strict', () => {
    for (const { decodeRequest } of [v0_3House, v0_3HouseStrict]) {
      expect(decodeRequest.getTask({ taskId: 't-1', historyLength: 2 })).toEqual({ taskId: 't-1', historyLength: 2 })
      expect(decodeRequest.getTask({ id: 't-1' })).toEqual({ taskId: 't-1' })
      expect(decodeRequest.subscribeToTask({ taskId: 't-1' })).toMatchObject({ taskId: 't-1', includeEnded: true })
    }
  })
})
