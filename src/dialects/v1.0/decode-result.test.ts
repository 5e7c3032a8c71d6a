import { describe, expect, it } from 'vitest'
import { A2AError } from '../../protocol/errors.ts'
import type { SendRequest } from '../../protocol/service.ts'
import { v1_0Client } from './client.ts'

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

describe('an answer', () => {
  it('to a send is a task or a message, told apart by the member', () => {
    expect(decode.sendMessage({ task: bare }, send)).toEqual({ type: 'task', task: bareInTheModel })
    expect(decode.sendMessage({ message: reply }, send)).toEqual({
      type: 'message',
      message: { ...reply, role: 'agent' },
    })
    expect(problemOf(() => decode.sendMessage({}, send))).toBe(
      'result: expected exactly one of task, message, got none of them',
    )
  })

  it('may leave out what ProtoJSON leaves out when it is empty', () => {
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
  })

  it('has as many parts as the agent likes', () => {
    const parts = Array.from({ length: 1001 }, () => ({ text: 'x' }))
    expect(decode.sendMessage({ message: { ...reply, parts } }, send)).toMatchObject({ message: { parts } })
  })

  it('that is none of 1.0 is refused with the field, what was expected and what came', () => {
    expect(problemOf(() => decode.getTask(null, address))).toBe('result: expected an object, got null')
    expect(problemOf(() => decode.cancelTask({ ...bare, status: {} }, address))).toMatch(
      /^status\.state: expected one of TASK_STATE_SUBMITTED, .* got nothing$/,
    )
    const older = { ...bare, history: [{ messageId: 'm', role: 'user', parts: [] }] }
    expect(problemOf(() => decode.getTask(older, address))).toBe(
      'history[0].role: expected one of ROLE_USER, ROLE_AGENT, got "user"',
    )
  })

  it('to a delete may be anything', () => {
    for (const result of [{}, null, undefined]) {
      expect(decode.deletePushConfig(result, { ...address, id: 'p' })).toBeUndefined()
    }
  })

  it('says whether tasks were asked for with their artifacts', () => {
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

  it('is told by its member', () => {
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

  it('is the last one when it is a message, or when the task has ended', () => {
    const ended = { state: 'TASK_STATE_FAILED' }
    expect(isLast({ message: reply })).toBe(true)
    expect(isLast({ task: { ...bare, status: ended } })).toBe(true)
    expect(isLast({ statusUpdate: { ...ref, status: ended } })).toBe(true)
    expect(isLast({ task: bare })).toBe(false)
    expect(isLast({ statusUpdate: { ...ref, status: { state: 'TASK_STATE_AUTH_REQUIRED' } } })).toBe(false)
  })
})
