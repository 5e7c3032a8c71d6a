import type { ServerDialect } from '../../dialects/dialect.ts'
import type { A2AError, ErrorCode } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/model.ts'
import type { StatusName } from './status.ts'

/** An error as `google.rpc.Status`, but for its number. */
export interface RpcStatus {
  readonly status: StatusName
  readonly message: string
  readonly details?: readonly JsonObject[]
}

export type ErrorEncoder = (error: A2AError) => RpcStatus

/** Over HTTP, dialects tell errors in this form already (A2A 1.0 §11.6). */
export function errorEncoder(
  dialect: ServerDialect,
  statuses: Readonly<Partial<Record<ErrorCode, StatusName>>> = {},
): ErrorEncoder {
  return (error) => {
    const told = dialect.encodeHttpError(error).body.error as unknown as RpcStatus
    const status = statuses[error.code]
    return status === undefined ? told : { ...told, status }
  }
}
