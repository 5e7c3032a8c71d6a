import type { JsonObject } from '../../base/json.ts'
import type { GrpcErrorForm, ServerDialect } from '../../dialects/dialect.ts'
import type { A2AError } from '../../protocol/errors.ts'

/** gRPC status codes (https://grpc.io/docs/guides/status-codes/). */
export const statusCodes = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const

export type StatusName = keyof typeof statusCodes

/** A call that is invalid as gRPC, before it is an A2A call. The caller sees its message. */
export class StatusError extends Error {
  override readonly name = 'StatusError'
  readonly status: StatusName

  constructor(status: StatusName, message: string, options?: ErrorOptions) {
    super(message, options)
    this.status = status
  }
}

/** An error as `google.rpc.Status`, with the name of its code. */
export interface RpcStatus {
  readonly status: StatusName
  readonly message: string
  readonly details?: readonly JsonObject[]
}

export type ErrorEncoder = (error: A2AError) => RpcStatus

/** Reuses the HTTP error body of the dialect, which has this form (A2A 1.0 §11.6). */
export function errorEncoder(dialect: ServerDialect): ErrorEncoder {
  const { statuses = {}, namesErrors = false }: GrpcErrorForm = dialect.grpc ?? {}
  return (error) => {
    const { body } = dialect.encodeHttpError(error)
    const encoded = body.error as unknown as RpcStatus
    const status = statuses[error.code] ?? encoded.status
    return { ...encoded, status, message: namesErrors ? `${body.type}: ${encoded.message}` : encoded.message }
  }
}
