import { describe, expect, it } from 'vitest'
import { A2AError, type ErrorCode } from '../../protocol/errors.ts'
import { errorDecoderOf } from '../../transports/client/failures.ts'
import { v0_3HouseClient } from './client.ts'
import { createHouseDialect, v0_3House } from './server.ts'

const { decodeError } = errorDecoderOf(v0_3HouseClient)
const legacy = createHouseDialect({ legacyCodes: true })
const metadata = { taskId: 't', timeoutSeconds: '300' }
const timeout = new A2AError('input-timeout', 'Nobody answered for 300 seconds.', { metadata })

describe('an error of the house', () => {
  it('has the number of 0.3 and tells its facts', () => {
    const { code, message, data } = v0_3House.encodeError(timeout)
    expect({ code, message }).toEqual({ code: -32050, message: 'Nobody answered for 300 seconds.' })
    expect(data).toMatchObject({ reason: 'INPUT_TIMEOUT', taskId: 't', timeoutSeconds: 300 })
    expect(v0_3House.encodeError(new A2AError('internal', 'Oh.'))).toEqual({ code: -32603, message: 'Oh.' })
  })

  it('has its own number and words where this is asked for', () => {
    const told = (code: ErrorCode) => {
      const { data: _, ...error } = legacy.encodeError(new A2AError(code, 'no.'))
      return error
    }
    expect(told('input-timeout')).toEqual({ code: -32001, message: 'Input timeout' })
    expect(told('tool-failed')).toEqual({ code: -32002, message: 'Tool execution failed' })
    expect(told('context-not-found')).toEqual({ code: -32003, message: 'Context not found' })
    expect(told('task-not-found')).toEqual({ code: -32001, message: 'Task not found' })
    expect(told('forbidden')).toEqual({ code: -32603, message: 'Forbidden: no.' })
    expect(told('unsupported-operation')).toEqual({ code: -32004, message: 'no.' })
    expect(legacy.encodeError(timeout).data).toEqual(v0_3House.encodeError(timeout).data)
  })

  it('of a skill says no more than that it may not be used, and the rest as facts', () => {
    const facts = { skill: 'pay', missingScopes: 'pay:write' }
    const forbidden = new A2AError('forbidden', 'Insufficient permissions: more.', { metadata: facts })
    expect(legacy.encodeError(forbidden)).toMatchObject({
      code: -32603,
      message: "Forbidden: Insufficient permissions for skill 'pay'",
      data: { reason: 'FORBIDDEN', ...facts },
    })
    expect(v0_3House.encodeError(forbidden)).toMatchObject({ code: -31403, message: 'Insufficient permissions: more.' })
    expect(legacy.encodeHttpError(forbidden)).toMatchObject({ status: 403, body: { error: { code: 403 } } })
    expect(legacy.encodeHttpError(new A2AError('unauthenticated', 'no'))).toMatchObject({ status: 401 })
  })

  it('is 500 over REST where this is asked for', () => {
    expect(legacy.encodeHttpError(timeout)).toMatchObject({
      status: 500,
      body: { error: { code: 500, message: 'Input timeout', data: { taskId: 't', timeoutSeconds: 300 } } },
    })
    expect(v0_3House.encodeHttpError(timeout)).toMatchObject({ status: 400, body: { code: -32050 } })
  })

  it('comes back as what it was, whichever numbers are spoken', () => {
    const codes: ErrorCode[] = ['input-timeout', 'tool-failed', 'context-not-found', 'task-not-found', 'forbidden']
    for (const { encodeError } of [v0_3House, legacy]) {
      for (const code of codes) expect(decodeError(encodeError(new A2AError(code, 'no.'))).code).toBe(code)
      expect(decodeError(encodeError(timeout)).metadata).toEqual(metadata)
    }
  })

  it('is told by its words, where it has no more', () => {
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
