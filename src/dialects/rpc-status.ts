import type { ErrorCode } from '../protocol/errors.ts'

/** What an error most probably is of which only the status of HTTP is known. */
export function codeOfHttpStatus(status: number): ErrorCode {
  return byHttpStatus.get(status) ?? (status >= 400 && status < 500 ? 'invalid-request' : 'internal')
}

/** What an error most probably is of which only the status of gRPC is known, by its name. */
export function codeOfGrpcStatus(name: unknown): ErrorCode | undefined {
  return byGrpcStatus.get(name)
}

const byHttpStatus: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [400, 'invalid-params'],
  [401, 'unauthenticated'],
  [403, 'forbidden'],
  [404, 'task-not-found'],
  [405, 'method-not-found'],
  [408, 'timeout'],
  [409, 'task-not-cancelable'],
  [413, 'payload-too-large'],
  [415, 'content-type-not-supported'],
  [422, 'invalid-params'],
  [429, 'rate-limited'],
  [501, 'unsupported-operation'],
  [502, 'invalid-agent-response'],
  [503, 'unavailable'],
  [504, 'timeout'],
])

const byGrpcStatus: ReadonlyMap<unknown, ErrorCode> = new Map<unknown, ErrorCode>([
  ['INVALID_ARGUMENT', 'invalid-params'],
  ['DEADLINE_EXCEEDED', 'timeout'],
  ['NOT_FOUND', 'task-not-found'],
  ['PERMISSION_DENIED', 'forbidden'],
  ['RESOURCE_EXHAUSTED', 'rate-limited'],
  ['FAILED_PRECONDITION', 'unsupported-operation'],
  ['ABORTED', 'conflict'],
  ['UNIMPLEMENTED', 'unsupported-operation'],
  ['INTERNAL', 'internal'],
  ['UNAVAILABLE', 'unavailable'],
  ['UNAUTHENTICATED', 'unauthenticated'],
])
