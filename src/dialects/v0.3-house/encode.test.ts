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

describe('what the house tells', () => {
  it('has its own parts and requests, kind first', () => {
    const told = encodeResult.getTask(task, { taskId: 't' })
    expect(told).toMatchObject({
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
    const text = JSON.stringify(told)
    expect(text).not.toContain(clientTools)
    expect(text.match(/"[a-z]+":/g)?.[0]).toBe('"kind":')
    expect(text).toContain('{"kind":"tool-use",')
    expect(text).toContain('{"kind":"input-request",')
  })

  it('leaves alone what only looks like a tool', () => {
    const parts: Part[] = [
      { data: { toolUseId: 7 }, mediaType: toolUse },
      { data: { toolUseId: 'u-1', name: 'search' } },
    ]
    const message = { ...question, parts, metadata: { [clientTools]: 'please' } }
    const told = encodeResult.sendMessage({ type: 'message', message }, { message })
    expect(told).toMatchObject({ parts: [{ kind: 'data' }, { kind: 'data' }], metadata: { [clientTools]: 'please' } })
  })
})

describe('a task that is followed', () => {
  const tell = (params: object, isLast: boolean) =>
    encodeEvent({ type: 'task', task, isLast }, decodeRequest.subscribeToTask(params)).map(({ kind, final }) => [
      kind,
      final,
    ])

  it('by taskId begins with how it stands, and ends with it if it has ended', () => {
    expect(tell({ taskId: 't' }, false)).toEqual([
      ['status-update', false],
      ['artifact-update', undefined],
    ])
    expect(tell({ taskId: 't' }, true)).toEqual([
      ['status-update', false],
      ['artifact-update', undefined],
      ['status-update', true],
    ])
  })

  it('by id begins with the task, as in 0.3', () => {
    expect(tell({ id: 't' }, false)).toEqual([['task', undefined]])
  })
})

describe('a client of the house', () => {
  const result: Message = {
    messageId: 'm-2',
    role: 'user',
    parts: [{ data: { toolUseId: 'input-1', result: 'key' }, mediaType: toolResult }],
  }

  it('refers to the task that it answers', () => {
    const message = { ...result, taskId: 't', referenceTaskIds: ['other'] }
    expect(encodeRequest.streamMessage({ message })).toMatchObject({
      message: {
        taskId: 't',
        referenceTaskIds: ['t', 'other'],
        parts: [{ kind: 'tool-result', toolUseId: 'input-1', result: 'key' }],
      },
    })
  })

  it('refers to nothing by itself otherwise', () => {
    expect(encodeRequest.streamMessage({ message: result })).not.toHaveProperty('message.referenceTaskIds')
    const message = { ...result, parts: [{ text: 'key' }], taskId: 't' }
    expect(encodeRequest.streamMessage({ message })).not.toHaveProperty('message.referenceTaskIds')
  })

  it('follows a task by getting it', () => {
    expect(v0_3HouseClient.methods.subscribeToTask).toBe('tasks/get')
    expect(encodeRequest.subscribeToTask({ taskId: 't' })).toEqual({ taskId: 't' })
  })
})
