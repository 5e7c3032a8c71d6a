import { describe, expect, it } from 'vitest'
import { v0_3House } from './server.ts'

function classify(method: string, params: unknown, acceptsStream = false) {
  const features = { version: undefined, method, params, acceptsStream }
  return { recognised: v0_3House.recognises?.(features), operation: v0_3House.operationFor?.(features) }
}

describe('recognises and operationFor', () => {
  it('getting a task by taskId identifies the house, and subscribes if the caller accepts a stream', () => {
    expect(classify('tasks/get', { taskId: 't' })).toEqual({ recognised: true, operation: undefined })
    expect(classify('tasks/get', { taskId: 't' }, true)).toEqual({ recognised: true, operation: 'subscribeToTask' })
    expect(v0_3House.operations.get('tasks/get')).toBe('getTask')
  })

  it('getting a task by id does not identify the house', () => {
    for (const params of [{ id: 't' }, { id: 't', taskId: 't' }, undefined, null, []]) {
      expect(classify('tasks/get', params, true)).toEqual({ recognised: false, operation: undefined })
    }
    expect(classify('tasks/cancel', { taskId: 't' }, true)).toEqual({ recognised: false, operation: undefined })
  })

  it('a message with a tool part or an input request identifies the house', () => {
    const houseMessages = [
      { parts: [{ kind: 'text', text: 'Here:' }, { kind: 'tool-result' }] },
      { parts: [{ kind: 'tool-use' }] },
      { parts: [], inputRequest: {} },
    ]
    for (const message of houseMessages) {
      expect(classify('message/send', { message }).recognised).toBe(true)
      expect(classify('message/stream', message).recognised).toBe(true)
      const call = { operation: 'sendMessage', query: {}, body: { message } } as const
      expect(v0_3House.rest?.recognises(call)).toBe(true)
    }
    for (const params of [{ message: { parts: [{ kind: 'text' }, null] } }, { message: 7 }, undefined]) {
      expect(classify('message/send', params).recognised).toBe(false)
    }
  })
})
