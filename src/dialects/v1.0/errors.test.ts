import { describe, expect, it } from 'vitest'
import { A2AError, type ErrorCode, invalidParams } from '../../protocol/errors.ts'
import { encodeError } from './errors.ts'

const errorInfo = 'type.googleapis.com/google.rpc.ErrorInfo'

describe('an error', () => {
  it('has the code and the reason that A2A 1.0 gives it', () => {
    const named: Partial<Record<ErrorCode, [number, string]>> = {
      'task-not-found': [-32001, 'TASK_NOT_FOUND'],
      'task-not-cancelable': [-32002, 'TASK_NOT_CANCELABLE'],
      'push-not-supported': [-32003, 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
      'unsupported-operation': [-32004, 'UNSUPPORTED_OPERATION'],
      'streaming-not-supported': [-32004, 'UNSUPPORTED_OPERATION'],
      'task-ended': [-32004, 'UNSUPPORTED_OPERATION'],
      'content-type-not-supported': [-32005, 'CONTENT_TYPE_NOT_SUPPORTED'],
      'invalid-agent-response': [-32006, 'INVALID_AGENT_RESPONSE'],
      'extended-card-not-configured': [-32007, 'EXTENDED_AGENT_CARD_NOT_CONFIGURED'],
      'extension-required': [-32008, 'EXTENSION_SUPPORT_REQUIRED'],
      'version-not-supported': [-32009, 'VERSION_NOT_SUPPORTED'],
    }
    for (const [code, [number, reason]] of Object.entries(named) as [ErrorCode, [number, string]][]) {
      expect(encodeError(new A2AError(code, 'No.'))).toStrictEqual({
        code: number,
        message: 'No.',
        data: [{ '@type': errorInfo, reason, domain: 'a2a-protocol.org' }],
      })
    }
  })

  it('that A2A does not know is told in our own domain', () => {
    expect(encodeError(new A2AError('conflict', 'No.'))).toStrictEqual({
      code: -32602,
      message: 'No.',
      data: [{ '@type': errorInfo, reason: 'IDEMPOTENCY_CONFLICT', domain: 'parley' }],
    })
  })

  it('of JSON-RPC itself has a code and no details', () => {
    const codes: Partial<Record<ErrorCode, number>> = {
      'parse-error': -32700,
      'invalid-request': -32600,
      'method-not-found': -32601,
      'invalid-params': -32602,
      internal: -32603,
    }
    for (const [code, number] of Object.entries(codes) as [ErrorCode, number][]) {
      expect(encodeError(new A2AError(code, 'No.'))).toStrictEqual({ code: number, message: 'No.' })
    }
  })

  it('names the fields that are wrong', () => {
    expect(encodeError(invalidParams('pageSize', 'expected 1 to 100, got 150'))).toStrictEqual({
      code: -32602,
      message: 'pageSize: expected 1 to 100, got 150',
      data: [
        {
          '@type': 'type.googleapis.com/google.rpc.BadRequest',
          fieldViolations: [{ field: 'pageSize', description: 'expected 1 to 100, got 150' }],
        },
      ],
    })
  })

  it('carries facts for programs, and never its cause', () => {
    const error = new A2AError('unavailable', 'Later.', {
      metadata: { queue: 'full' },
      retryAfter: 0.1 + 0.2,
      cause: new Error('s3cret'),
    })
    expect(encodeError(error)).toStrictEqual({
      code: -32603,
      message: 'Later.',
      data: [
        { '@type': errorInfo, reason: 'UNAVAILABLE', domain: 'parley', metadata: { queue: 'full' } },
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '0.3s' },
      ],
    })
  })
})
