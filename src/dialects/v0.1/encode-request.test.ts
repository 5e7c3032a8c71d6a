import { expect, it } from 'vitest'
import type { Message } from '../../protocol/model.ts'
import { encodeRequest as encode } from './encode.ts'

const message: Message = { messageId: 'm-1', role: 'user', parts: [{ text: 'hi' }], extensions: ['https://e'] }
const messageOnTheWire = { role: 'user', parts: [{ type: 'text', text: 'hi' }] }

it('a message continues its task, and otherwise begins one under its own id', () => {
  expect(encode.sendMessage({ message })).toStrictEqual({ id: 'm-1', message: messageOnTheWire })
  expect(encode.streamMessage({ message: { ...message, taskId: 'T', contextId: 'C' } })).toStrictEqual({
    id: 'T',
    sessionId: 'C',
    message: messageOnTheWire,
  })
})

it('a message takes along all of its configuration that 0.1 has', () => {
  const configuration = {
    acceptedOutputModes: ['text/plain'],
    historyLength: 2,
    returnImmediately: true,
    push: { url: 'https://h', authentication: { scheme: 'Basic', credentials: 'c' } },
  }
  expect(encode.sendMessage({ message, configuration, metadata: { k: 1 }, tenant: 'acme' })).toStrictEqual({
    id: 'm-1',
    message: messageOnTheWire,
    acceptedOutputModes: ['text/plain'],
    historyLength: 2,
    pushNotification: { url: 'https://h', authentication: { schemes: ['Basic'], credentials: 'c' } },
    metadata: { k: 1 },
  })
})

it('what 0.1 has no method for is refused', () => {
  for (const ask of [encode.listTasks, encode.getExtendedCard]) {
    expect(() => ask({})).toThrow(expect.objectContaining({ code: 'method-not-found' }))
  }
  for (const ask of [encode.listPushConfigs, encode.deletePushConfig]) {
    expect(() => ask({ taskId: 'T' })).toThrow(expect.objectContaining({ code: 'method-not-found' }))
  }
})
