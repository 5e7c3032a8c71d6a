import { describe, expect, it } from 'vitest'
import { clientTools } from '../../protocol/extensions/client-tools.ts'
import { v0_3HouseClient } from './client.ts'

const { decodeEvent, decodeResult } = v0_3HouseClient
const address = { taskId: 't' }
const task = { kind: 'task', id: 't', contextId: 'c', status: { state: 'started', timestamp: '2025-10-30T10:00:00Z' } }
const event = (more: object) => decodeEvent({ taskId: 't', contextId: 'c', ...more }, address)

describe('an agent of the house', () => {
  it('has started a task that was submitted', () => {
    expect(decodeEvent(task, address)).toMatchObject({ type: 'task', task: { status: { state: 'submitted' } } })
    expect(decodeResult.getTask(task, address).status.state).toBe('submitted')
    expect(event({ kind: 'status-update', status: { state: 'started' }, final: false })).toMatchObject({
      status: { state: 'submitted' },
    })
  })

  it('sends artifacts by their place, a part at a time', () => {
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

  it('asks for input in the message of a status', () => {
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

  it('may wrap what it tells over REST', () => {
    for (const wrapped of [task, { jsonrpc: '2.0', id: 1, result: task }, { task }]) {
      expect(decodeEvent(wrapped, address)).toMatchObject({ type: 'task', task: { id: 't' } })
    }
    const update = { kind: 'status-update', taskId: 't', contextId: 'c', status: { state: 'working' }, final: false }
    expect(decodeEvent({ statusUpdate: update }, address)).toMatchObject({ type: 'status', taskId: 't' })
  })
})
