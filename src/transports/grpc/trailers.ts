import { base64Encode } from '@bufbuild/protobuf/wire'
import type { ServerDialect } from '../../dialects/dialect.ts'
import type { A2AError } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/model.ts'
import { encodeMessage } from './codec.ts'
import { registry } from './registry.ts'
import type { Metadata } from './rpc.ts'
import { StatusError, type StatusName, statusCodes } from './status.ts'

export const okTrailers: Metadata = { 'grpc-status': '0' }

/** Java reads no more than 8 KiB of metadata, and this is its largest part. */
const maxMessage = 1_024
const maxDetails = 4_096

/** How the end of a call tells an error: its status, and in full as a `google.rpc.Status` (A2A 1.0 §10.6). */
export function errorTrailers(error: A2AError | StatusError, dialect: ServerDialect): Metadata {
  if (error instanceof StatusError) return statusTrailers(error.status, error.message)
  const { status, message, details = [] } = dialect.encodeHttpError(error).body.error as unknown as RpcStatus
  const trailers = statusTrailers(status, message)
  if (details.length === 0) return trailers
  return { ...trailers, 'grpc-status-details-bin': base64Encode(encodeDetails(status, message, details), 'std_raw') }
}

/** The form that A2A 1.0 gives to errors over HTTP (§11.6). */
interface RpcStatus {
  readonly status: StatusName
  readonly message: string
  readonly details?: readonly JsonObject[]
}

function statusTrailers(status: StatusName, message: string): Metadata {
  return { 'grpc-status': `${statusCodes[status]}`, 'grpc-message': percentEncode(message.slice(0, maxMessage)) }
}

const Status = registry.getMessage('google.rpc.Status')

/** The first detail says what kind of error it is; the others may have to stay behind. */
function encodeDetails(status: StatusName, message: string, details: readonly JsonObject[]): Uint8Array {
  if (Status === undefined) throw new Error('there is no google.rpc.Status in proto/')
  const told = { code: statusCodes[status], message: message.slice(0, maxMessage) }
  const whole = encodeMessage(Status, { ...told, details })
  return whole.length <= maxDetails ? whole : encodeMessage(Status, { ...told, details: details.slice(0, 1) })
}

/** As HTTP/2 headers can carry it: printable ASCII, and everything else as the bytes of its UTF-8. */
function percentEncode(text: string): string {
  return text.toWellFormed().replace(/[^ -$&-~]+/gu, encodeURIComponent)
}
