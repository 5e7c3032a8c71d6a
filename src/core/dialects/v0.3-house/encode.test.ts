import { describe, expect, it } from 'vitest'
import { clientTools, toolResult, toolUse } from '../../protocol/extensions/client-tools.ts'
import type { Message, Part, Task } from '../../protocol/model.ts'
import { v0_3HouseClient } from './client.ts'
import { v0_3House } from './server.ts'

const { decodeRequest, encodeEvent, encodeResult } = v0_3House
const { encodeRequest } = v0_3HouseClient

const question: Message = {
  messageId: 'm-1',
  role: 'agent',
  parts: [{ text: 'Your key?' }, { data: { toolUseId: 'u-1', name: 'search', more: 1 }, mediaType: toolUse }],
  extensions: [clientTools],
  metadata: { [clientTools]: { requestId: 'input-1', prompt: 'Enter API key:' } },
}
const status = { state: 'input-required', message: question, timestamp: '2026-05-01T08:00:00.000Z' } as const
const task: Task = {
  id: 't',
  contextId: 'c',
  status,
  artifacts: [{ artifactId: 'a', parts: [{ text: 'so far' }] }],
  history: [],
  generation: 4,
}

describe('encodeResult', () => {
  it('tool parts and input requests are encoded with kind first', () => {
    const wire = encodeResult.getTask(task, { taskId: 't' })
    expect(wire).toMatchObject({
      status: {
        message: {
          kind: 'message',
          parts: [
            { kind: 'text', text: 'Your key?' },
            { kind: 'tool-use', toolUseId: 'u-1', name: 'search' },
          ],
          inputRequest: { kind: 'input-request', requestId: 'input-1', prompt: 'Enter API key:' },
        },
      },
    })
    const text = JSON.stringify(wire)
    expect(text).not.toContain(clientTools)
    expect(text.match(/"[a-z]+":/g)?.[0]).toBe('"kind":')
    expect(text).toContain('{"kind":"tool-use",')
    expect(text).toContain('{"kind":"input-request",')
  })

  it('data that only resembles a tool part stays data', () => {
    const parts: Part[] = [
      { data: { toolUseId: 7 }, mediaType: toolUse },
      { data: { toolUseId: 'u-1', name: 'search' } },
    ]
    const message = { ...question, parts, metadata: { [clientTools]: 'please' } }
    const wire = encodeResult.sendMessage({ type: 'message', message }, { message })
    expect(wire).toMatchObject({ parts: [{ kind: 'data' }, { kind: 'data' }], metadata: { [clientTools]: 'please' } })
  })
})

describe('encodeEvent', () => {
  const updatesFor = (params: object, isLast: boolean) =>
    encodeEvent({ type: 'task', task, isLast }, decodeRequest.subscribeToTask(params)).map(({ kind, final }) => [
      kind,
      final,
    ])

  it('a subscription by taskId starts with the status, and ends with it if the task has ended', () => {
    expect(updatesFor({ taskId: 't' }, false)).toEqual([
      ['status-update', false],
      ['artifact-update', undefined],
    ])
    expect(updatesFor({ taskId: 't' }, true)).toEqual([
      ['status-update', false],
      ['artifact-update', undefined],
      ['status-update', true],
    ])
  })

  it('a subscription by id starts with the task, as in 0.3', () => {
    expect(updatesFor({ id: 't' }, false)).toEqual([['task', undefined]])
  })
})

describe('encodeRequest', () => {
  const result: Message = {
    messageId: 'm-2',
    role: 'user',
    parts: [{ data: { toolUseId: 'input-1', result: 'key' }, mediaType: toolResult }],
  }

  it('a tool result refers to the task that it answers', () => {
    const message = { ...result, taskId: 't', referenceTaskIds: ['other'] }
    expect(encodeRequest.streamMessage({ message })).toMatchObject({
      message: {
        taskId: 't',
        referenceTaskIds: ['t', 'other'],
        parts: [{ kind: 'tool-result', toolUseId: 'input-1', result: 'key' }],
      },
    })
  })

  it('other messages get no reference', () => {
    expect(encodeRequest.streamMessage({ message: result })).not.toHaveProperty('message.referenceTaskIds')
    const message = { ...result, parts: [{ text: 'key' }], taskId: 't' }
    expect(encodeRequest.streamMessage({ message })).not.toHaveProperty('message.referenceTaskIds')
  })

  it('a client subscribes to a task by getting it', () => {
    expect(v0_3HouseClient.methods.subscribeToTask).toBe('tasks/get')
    expect(encodeRequest.subscribeToTask({ taskId: 't' })).toEqual({ taskId: 't' })
  })
})
