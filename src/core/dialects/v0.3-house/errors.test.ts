import { describe, expect, it } from 'vitest'
import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { errorDecoderOf } from '../../transports/client/failures.ts'
import { v0_3HouseClient } from './client.ts'
import { createHouseDialect, v0_3House } from './server.ts'

const { decodeError } = errorDecoderOf(v0_3HouseClient)
const plain = createHouseDialect({ houseCodes: false, timeoutAsError: false })
const metadata = { taskId: 't', timeoutSeconds: '300' }
const timeout = new A2AError('input-timeout', 'No answer within 300 seconds.', { metadata })

describe('errors', () => {
  it('an error has the number of 0.3, and its facts in the data', () => {
    const { code, message, data } = plain.encodeError(timeout)
    expect({ code, message }).toEqual({ code: -32050, message: 'No answer within 300 seconds.' })
    expect(data).toMatchObject({ reason: 'INPUT_TIMEOUT', taskId: 't', timeoutSeconds: 300 })
    expect(v0_3House.encodeError(new A2AError('internal', 'Oh.'))).toEqual({
      code: -32603,
      message: 'Internal error: Oh.',
    })
  })

  it('an error has the number and message of the house unless house codes are switched off', () => {
    const houseError = (code: ErrorCode) => {
      const { data: _, ...error } = v0_3House.encodeError(new A2AError(code, 'no.'))
      return error
    }
    expect(houseError('input-timeout')).toEqual({ code: -32001, message: 'Input timeout' })
    expect(houseError('tool-failed')).toEqual({ code: -32002, message: 'Tool execution failed' })
    expect(houseError('context-not-found')).toEqual({ code: -32003, message: 'Context not found' })
    expect(houseError('task-not-found')).toEqual({ code: -32004, message: 'Task not found' })
    expect(houseError('forbidden')).toEqual({ code: -32603, message: 'Forbidden: no.' })
    expect(houseError('unsupported-operation')).toEqual({
      code: -32014,
      message: 'This operation is not supported: no.',
    })
    const kinds = [
      'input-timeout',
      'tool-failed',
      'context-not-found',
      'task-not-found',
      'task-not-cancelable',
    ] as const
    const others = ['push-not-supported', 'unsupported-operation', 'content-type-not-supported'] as const
    const numbers = [...kinds, ...others].map((code) => houseError(code).code)
    expect(new Set(numbers).size).toBe(numbers.length)
    expect(v0_3House.encodeError(timeout).data).toEqual(plain.encodeError(timeout).data)
  })

  it('an error about a skill has a fixed message, and its details as facts', () => {
    const facts = { skill: 'pay', missingScopes: 'pay:write' }
    const forbidden = new A2AError('forbidden', 'Insufficient permissions: more.', { metadata: facts })
    expect(v0_3House.encodeError(forbidden)).toMatchObject({
      code: -32603,
      message: "Forbidden: Insufficient permissions for skill 'pay'",
      data: { reason: 'FORBIDDEN', ...facts },
    })
    expect(plain.encodeError(forbidden)).toMatchObject({ code: -31403, message: 'Insufficient permissions: more.' })
    expect(v0_3House.encodeHttpError(forbidden)).toMatchObject({
      status: 403,
      body: { error: { code: -32603, message: "Forbidden: Insufficient permissions for skill 'pay'" } },
    })
    expect(v0_3House.encodeHttpError(new A2AError('unauthenticated', 'no'))).toMatchObject({ status: 401 })
  })

  it('an error over REST is 500 unless house codes are switched off', () => {
    expect(v0_3House.encodeHttpError(timeout)).toMatchObject({
      status: 500,
      body: { error: { code: 500, message: 'Input timeout', data: { taskId: 't', timeoutSeconds: 300 } } },
    })
    expect(plain.encodeHttpError(timeout)).toMatchObject({ status: 400, body: { code: -32050 } })
  })

  it('an error is decoded to the same code with either numbers', () => {
    const codes: ErrorCode[] = ['input-timeout', 'tool-failed', 'context-not-found', 'task-not-found', 'forbidden']
    for (const { encodeError } of [v0_3House, plain]) {
      for (const code of codes) expect(decodeError(encodeError(new A2AError(code, 'no.'))).code).toBe(code)
      expect(decodeError(encodeError(timeout)).metadata).toEqual(metadata)
    }
  })

  it('an error without data is identified by its message', () => {
    const code = (code: number, message: string, data?: { reason: string }) => decodeError({ code, message, data }).code
    expect(code(-32001, 'Input timeout')).toBe('input-timeout')
    expect(code(-32001, 'Task not found')).toBe('task-not-found')
    expect(code(-32004, 'Task not found')).toBe('task-not-found')
    expect(code(-32603, "Forbidden: Insufficient permissions for skill 'admin-tools'")).toBe('forbidden')
    expect(code(-32001, 'Zeit abgelaufen', { reason: 'INPUT_TIMEOUT' })).toBe('input-timeout')
    expect(code(-32002, 'It is over')).toBe('task-not-cancelable')
    expect(code(-32603, 'Internal error', { reason: 'no idea' })).toBe('internal')
    expect(
      decodeError({ code: -32001, message: 'Input timeout', data: { taskId: 't', timeoutSeconds: 300 } }),
    ).toMatchObject({
      metadata,
    })
  })
})

describe('input timeouts', () => {
  const late = { reason: 'INPUT_TIMEOUT', timeoutSeconds: 300 }
  const event = (more: object): StreamEvent =>
    ({
      type: 'status',
      taskId: 't-1',
      contextId: 'c',
      generation: 3,
      status: { state: 'failed', timestamp: '2026-05-01T08:00:00.000Z' },
      isLast: true,
      ...more,
    }) as StreamEvent
  const message = { messageId: 'm', role: 'agent', parts: [], metadata: late }

  const request = { taskId: 't-1' }

  it('a task that failed on an input timeout ends with an error, unless that is switched off', () => {
    const withMessage = { state: 'failed', timestamp: '2026-05-01T08:00:00.000Z', message }
    const task = { id: 't-1', contextId: 'c', status: withMessage, artifacts: [], history: [], generation: 3 }
    const taskEvent: StreamEvent = { type: 'task', task, isLast: true } as StreamEvent
    for (const failed of [event({ metadata: late }), event({ status: withMessage }), taskEvent]) {
      expect(v0_3House.errorInsteadOf?.(failed, request)).toMatchObject({
        code: 'input-timeout',
        metadata: { taskId: 't-1', timeoutSeconds: '300' },
      })
      expect(plain.errorInsteadOf?.(failed, request)).toBeUndefined()
    }
    const error = v0_3House.errorInsteadOf?.(event({ metadata: late }), request)
    expect(error && v0_3House.encodeError(error)).toMatchObject({
      code: -32001,
      message: 'Input timeout',
      data: { reason: 'INPUT_TIMEOUT', taskId: 't-1', timeoutSeconds: 300 },
    })
  })

  it('any other end of a task has no error', () => {
    const status = { state: 'canceled', timestamp: '2026-05-01T08:00:00.000Z', message }
    const others = [
      event({}),
      event({ metadata: { reason: 'OTHER' } }),
      event({ status }),
      event({ isLast: false, metadata: late }),
    ]
    expect(others.map((other) => v0_3House.errorInsteadOf?.(other, request))).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ])
    expect(
      v0_3House.errorInsteadOf?.({ type: 'message', message: { messageId: 'm', role: 'agent', parts: [] } }, request),
    ).toBeUndefined()
  })
})
