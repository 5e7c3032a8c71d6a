import { base64Encode } from '@bufbuild/protobuf/wire'
import type { A2AError } from '../../protocol/errors.ts'
import { encodeMessage } from './codec.ts'
import { messageNamed } from './registry.ts'
import type { Metadata } from './rpc.ts'
import type { ErrorEncoder, RpcStatus } from './rpc-status.ts'
import { StatusError, statusCodes } from './status.ts'

export const okTrailers: Metadata = { 'grpc-status': '0' }

/** Clients in Java read no more than 8 KiB of metadata: here 400 characters become 3,600, and 2,900 bytes 3,900. */
const maxMessage = 400
const maxDetails = 2_900

/** How the end of a call tells an error: its status, and in full as a `google.rpc.Status` (A2A 1.0 §10.6). */
export function errorTrailers(error: A2AError | StatusError, encodeError: ErrorEncoder): Metadata {
  if (error instanceof StatusError) return statusTrailers(error)
  const status = encodeError(error)
  const details = encodeDetails(status)
  const { challenge } = error
  const trailers = { ...statusTrailers(status), ...(challenge !== undefined && { 'www-authenticate': challenge }) }
  return details ? { ...trailers, 'grpc-status-details-bin': base64Encode(details, 'std_raw') } : trailers
}

function statusTrailers({ status, message }: RpcStatus | StatusError): Metadata {
  return { 'grpc-status': `${statusCodes[status]}`, 'grpc-message': percentEncode(short(message)) }
}

/** The first detail says what kind of error it is; the later ones are left out if there is no room for them. */
function encodeDetails({ status, message, details = [] }: RpcStatus): Uint8Array | undefined {
  for (let told = details; told.length > 0; told = told.slice(0, -1)) {
    const bytes = encodeMessage(Status, { code: statusCodes[status], message: short(message), details: told })
    if (bytes.length <= maxDetails) return bytes
  }
  return undefined
}

const Status = messageNamed('google.rpc.Status')

function short(message: string): string {
  return message.slice(0, maxMessage).toWellFormed()
}

/** As HTTP/2 headers can carry it: printable ASCII, and everything else as the bytes of its UTF-8. */
function percentEncode(text: string): string {
  return text.replace(/[^ -$&-~]+/g, encodeURIComponent)
}
