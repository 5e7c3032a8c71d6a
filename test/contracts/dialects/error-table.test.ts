import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { HttpError, ServerDialect } from '../../../src/core/dialects/dialect.ts'
import { decodeError } from '../../../src/core/dialects/errors.ts'
import { v0_1 } from '../../../src/core/dialects/v0.1/server.ts'
import { v0_2 } from '../../../src/core/dialects/v0.2/server.ts'
import { v0_3 } from '../../../src/core/dialects/v0.3/server.ts'
import { createHouseDialect, v0_3House } from '../../../src/core/dialects/v0.3-house/server.ts'
import { v0_3Proto } from '../../../src/core/dialects/v0.3-proto/server.ts'
import { encodeV1_0_0HttpError } from '../../../src/core/dialects/v1.0/errors.ts'
import { v1_0 } from '../../../src/core/dialects/v1.0/server.ts'
import { A2AError, type ErrorCode } from '../../../src/core/protocol/errors.ts'
import { httpStatus } from '../../../src/core/transports/jsonrpc/server.ts'

/**
 * The encoding of an error: its number in 0.1, in 0.2 and 0.3, and in 1.0; its HTTP status and the name of its gRPC status
 * in 1.0.1; the reason in `ErrorInfo`.
 */
type Row = readonly [v0_1: number, v0_3: number, v1_0: number, http: number, grpc: string, reason?: string]

const table: Readonly<Record<ErrorCode, Row>> = {
  'parse-error': [-32700, -32700, -32700, 400, 'INVALID_ARGUMENT'],
  'invalid-request': [-32600, -32600, -32600, 400, 'INVALID_ARGUMENT'],
  'method-not-found': [-32601, -32601, -32601, 404, 'UNIMPLEMENTED'],
  'invalid-params': [-32602, -32602, -32602, 400, 'INVALID_ARGUMENT'],
  internal: [-32603, -32603, -32603, 500, 'INTERNAL'],
  'task-not-found': [-32001, -32001, -32001, 404, 'NOT_FOUND', 'TASK_NOT_FOUND'],
  'task-expired': [-32001, -32001, -32001, 404, 'NOT_FOUND', 'TASK_EXPIRED'],
  'task-not-cancelable': [-32002, -32002, -32002, 400, 'FAILED_PRECONDITION', 'TASK_NOT_CANCELABLE'],
  'push-not-supported': [-32003, -32003, -32003, 400, 'FAILED_PRECONDITION', 'PUSH_NOTIFICATION_NOT_SUPPORTED'],
  'streaming-not-supported': [-32006, -32004, -32004, 400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
  'task-ended': [-32009, -32004, -32004, 400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
  'unsupported-operation': [-32004, -32004, -32004, 400, 'FAILED_PRECONDITION', 'UNSUPPORTED_OPERATION'],
  'content-type-not-supported': [-32005, -32005, -32005, 400, 'INVALID_ARGUMENT', 'CONTENT_TYPE_NOT_SUPPORTED'],
  'invalid-agent-response': [-32603, -32006, -32006, 500, 'INTERNAL', 'INVALID_AGENT_RESPONSE'],
  'extended-card-not-configured': [
    -32004,
    -32007,
    -32007,
    400,
    'FAILED_PRECONDITION',
    'EXTENDED_AGENT_CARD_NOT_CONFIGURED',
  ],
  'extension-required': [-32004, -32004, -32008, 400, 'FAILED_PRECONDITION', 'EXTENSION_SUPPORT_REQUIRED'],
  'version-not-supported': [-32004, -32004, -32009, 400, 'FAILED_PRECONDITION', 'VERSION_NOT_SUPPORTED'],
  'task-generation-mismatch': [-32602, -32602, -32010, 409, 'ABORTED', 'TASK_GENERATION_MISMATCH'],
  conflict: [-32602, -32602, -32602, 409, 'ABORTED', 'CONFLICT'],
  'payload-too-large': [-32600, -32600, -32600, 413, 'RESOURCE_EXHAUSTED', 'PAYLOAD_TOO_LARGE'],
  unauthenticated: [-32007, -31401, -31401, 401, 'UNAUTHENTICATED', 'UNAUTHENTICATED'],
  forbidden: [-32008, -31403, -31403, 403, 'PERMISSION_DENIED', 'FORBIDDEN'],
  'rate-limited': [-32010, -32053, -32053, 429, 'RESOURCE_EXHAUSTED', 'RATE_LIMITED'],
  unavailable: [-32011, -32603, -32603, 503, 'UNAVAILABLE', 'UNAVAILABLE'],
  timeout: [-32011, -32603, -32603, 504, 'DEADLINE_EXCEEDED', 'TIMEOUT'],
  'input-timeout': [-32050, -32050, -32050, 400, 'DEADLINE_EXCEEDED', 'INPUT_TIMEOUT'],
  'tool-failed': [-32051, -32051, -32051, 500, 'INTERNAL', 'TOOL_EXECUTION_FAILED'],
  'context-not-found': [-32052, -32052, -32052, 404, 'NOT_FOUND', 'CONTEXT_NOT_FOUND'],
}

/** The numbers of the house profile, where they differ from those of 0.3. */
const houseNumbers: Readonly<Partial<Record<ErrorCode, number>>> = {
  'input-timeout': -32001,
  'tool-failed': -32002,
  'context-not-found': -32003,
  'task-not-found': -32004,
  'task-expired': -32004,
  forbidden: -32603,
  'task-not-cancelable': -32012,
  'push-not-supported': -32013,
  'streaming-not-supported': -32014,
  'task-ended': -32014,
  'unsupported-operation': -32014,
  'extension-required': -32014,
  'version-not-supported': -32014,
}

/** The HTTP and gRPC statuses of 1.0.0, where they differ. */
const v1_0_0Statuses: Readonly<Partial<Record<ErrorCode, readonly [number, string]>>> = {
  'task-not-cancelable': [409, 'FAILED_PRECONDITION'],
  'push-not-supported': [400, 'UNIMPLEMENTED'],
  'unsupported-operation': [400, 'UNIMPLEMENTED'],
  'streaming-not-supported': [400, 'UNIMPLEMENTED'],
  'task-ended': [400, 'UNIMPLEMENTED'],
  'content-type-not-supported': [415, 'INVALID_ARGUMENT'],
  'invalid-agent-response': [502, 'INTERNAL'],
  'version-not-supported': [400, 'UNIMPLEMENTED'],
}

/** When an error is sent, for the table in the docs. */
const causes: Readonly<Record<ErrorCode, string>> = {
  'parse-error': 'the body is not JSON',
  'invalid-request': 'the body is not a JSON-RPC request',
  'method-not-found': 'the version has no such method or path',
  'invalid-params': 'a field is missing or wrong',
  internal: 'the server failed; the cause is in its log',
  'task-not-found': 'there is no such task, or it belongs to another caller',
  'task-expired': 'the task ended and its retention has passed',
  'task-not-cancelable': 'the task has ended',
  'push-not-supported': 'the agent sends no notifications to webhooks',
  'streaming-not-supported': 'the agent does not stream',
  'task-ended': 'a message or subscription for a task that has ended',
  'unsupported-operation': 'the agent does not have the operation',
  'content-type-not-supported': 'the agent does not accept the media type',
  'invalid-agent-response': 'the agent returned something that is no answer',
  'extended-card-not-configured': 'another agent, called by this one, has no extended card',
  'extension-required': 'the caller does not support a required extension',
  'version-not-supported': 'the server does not speak the version',
  'task-generation-mismatch': 'A2A 1.1: the task has another generation than the message expects',
  conflict: 'an idempotency key was used for another request, or the task is busy',
  'payload-too-large': 'the body exceeds the limit',
  unauthenticated: 'credentials are missing or wrong',
  forbidden: 'the caller lacks a scope or a permission',
  'rate-limited': 'the caller exceeded a limit',
  unavailable: 'the server is overloaded, shutting down or without its store',
  timeout: 'another agent or service did not answer in time',
  'input-timeout': 'the caller did not answer a question in time',
  'tool-failed': 'a tool of the agent failed',
  'context-not-found': 'there is no such context',
}

const unsupported = 'This operation is not supported'

/** The text that the specification gives to an error in 0.2 and 0.3, and in 1.0 if it differs. */
const texts: Readonly<Partial<Record<ErrorCode, readonly [v0_3: string, v1_0?: string]>>> = {
  'parse-error': ['Invalid JSON payload'],
  'invalid-request': ['Request payload validation error'],
  'method-not-found': ['Method not found'],
  'invalid-params': ['Invalid parameters'],
  internal: ['Internal error'],
  'task-not-found': ['Task not found'],
  'task-expired': ['Task not found'],
  'task-not-cancelable': ['Task cannot be canceled'],
  'push-not-supported': ['Push Notification is not supported'],
  'unsupported-operation': [unsupported],
  'streaming-not-supported': [unsupported],
  'task-ended': [unsupported],
  'content-type-not-supported': ['Incompatible content types'],
  'invalid-agent-response': ['Invalid agent response'],
  'extended-card-not-configured': [
    'Authenticated Extended Card is not configured',
    'Extended Agent Card is not configured',
  ],
  'extension-required': [unsupported, 'Extension support required'],
  'version-not-supported': [unsupported, 'Version not supported'],
}

/** The errors over JSON-RPC that have an HTTP status as well, since HTTP clients act on it. */
const jsonRpcStatuses: Readonly<Partial<Record<ErrorCode, number>>> = {
  unauthenticated: 401,
  forbidden: 403,
  'payload-too-large': 413,
  'rate-limited': 429,
  unavailable: 503,
}

function statusesOf({ status, body }: HttpError): readonly unknown[] {
  return [status, (body.error as { readonly status?: string }).status]
}

it('the table of errors in the docs is up to date (update it with UPDATE_DOCS=1)', () => {
  const page = new URL('../../../docs/reference/errors.md', import.meta.url)
  const rows = (Object.entries(table) as [ErrorCode, Row][]).map(([code, [v0_1, v0_3, v1_0, http, grpc]]) => {
    const numbers = [v1_0, v0_3, houseNumbers[code] ?? v0_3, v0_1].join(' | ')
    return `| \`${code}\` | ${causes[code]} | ${numbers} | ${http} | \`${grpc}\` |`
  })
  const head = [
    '| code | sent if | 1.0 | 0.2, 0.3 | 0.3 house | 0.1 | REST | gRPC |',
    '|---|---|---|---|---|---|---|---|',
  ]
  const [before, after] = readFileSync(page, 'utf8').split(/(?<=<!-- errors -->\n).*(?=<!-- \/errors -->)/s)
  const updated = `${before}\n${[...head, ...rows].join('\n')}\n\n${after}`
  if (process.env.UPDATE_DOCS) writeFileSync(page, updated)
  expect(readFileSync(page, 'utf8')).toBe(updated)
})

it('the docs say what to do about every error', () => {
  const page = readFileSync(new URL('../../../docs/reference/errors.md', import.meta.url), 'utf8')
  const [, section = ''] = page.split(/^## What to do$/m)
  const [remedies = ''] = section.split(/^## /m)
  const codes = [...remedies.matchAll(/^\| `([\w-]+)` \| .{20,} \|$/gm)].map(([, code]) => code)
  expect(codes).toEqual(Object.keys(table))
})

describe.each(Object.entries(table) as [ErrorCode, Row][])('the error %s', (code, row) => {
  const [v0_1Number, v0_3Number, v1_0Number, http, grpc, reason] = row
  const error = new A2AError(code, 'No.')
  const numberIn = (dialect: ServerDialect) => dialect.encodeError(error).code
  const [v0_3Text, v1_0Text = v0_3Text] = texts[code] ?? []
  const withText = (detail: string, text = v0_3Text) => (text === undefined ? detail : `${text}: ${detail}`)

  it('the error has its number in every dialect', () => {
    // 0.2 has no error for a missing extended card.
    const v0_2Number = code === 'extended-card-not-configured' ? -32004 : v0_3Number
    const numbers = [v0_1, v0_2, v0_3, v0_3House, v0_3Proto, v1_0].map(numberIn)
    const houseNumber = houseNumbers[code] ?? v0_3Number
    expect(numbers).toEqual([v0_1Number, v0_2Number, v0_3Number, houseNumber, v0_3Number, v1_0Number])
  })

  it('the error has its HTTP and gRPC statuses in 1.0.1 and in 1.0.0', () => {
    expect(statusesOf(v1_0.encodeHttpError(error))).toEqual([http, grpc])
    expect(statusesOf(encodeV1_0_0HttpError(error))).toEqual(v1_0_0Statuses[code] ?? [http, grpc])
    expect(httpStatus[code]).toBe(jsonRpcStatuses[code] ?? 200)
  })

  it('the error has its reason in 1.0, and over REST in 0.3 the members that each SDK reads', () => {
    const [info] = (v1_0.encodeError(error).data ?? []) as readonly { readonly reason?: string }[]
    expect(info?.reason).toBe(reason)
    for (const dialect of [v0_3, v0_3Proto]) {
      const { status, body } = dialect.encodeHttpError(error)
      expect(status).toBe(http)
      expect(body).toMatchObject({ code: v0_3Number, message: withText('No.'), type: expect.stringMatching(/Error$/) })
      expect(body.error).toEqual(v1_0.encodeHttpError(error).body.error)
    }
  })

  it('its message begins with the text of the specification in every dialect, and its detail follows', () => {
    const message = withText('No.', v1_0Text)
    expect(v1_0.encodeError(error).message).toBe(message)
    expect(v1_0.encodeHttpError(error).body.error).toMatchObject({ message })
    // Some 0.2 and 0.3 clients accept only the bare text for a missing task, so the detail is in the data.
    const isConstant = numberIn(v0_3) === -32001
    for (const dialect of [v0_3, createHouseDialect({ houseCodes: false }), v0_3Proto]) {
      const wire = dialect.encodeError(error)
      expect(wire.message).toBe(isConstant ? 'Task not found' : withText('No.'))
      if (isConstant) expect(JSON.stringify(wire.data)).toContain('"message":"No."')
      expect(decodeError(wire).message).toBe(withText('No.'))
    }
  })

  it('a message that has the text already keeps it once', () => {
    const forwarded = new A2AError(code, v1_0.encodeError(error).message)
    expect(v1_0.encodeError(forwarded)).toEqual(v1_0.encodeError(error))
  })

  it('the details are a list in 0.2, 0.3 and 1.0 over JSON-RPC', () => {
    for (const dialect of [v0_2, v0_3, v1_0]) {
      const { data } = dialect.encodeError(error)
      if (reason === undefined) expect(data).toBeUndefined()
      else expect(data).toEqual([expect.objectContaining({ reason }), ...(data as unknown[]).slice(1)])
    }
  })
})
