import { base64Decode } from '@bufbuild/protobuf/wire'
import type { ClientDialect } from '../../dialects/dialect.ts'
import { readDetails } from '../../dialects/rpc-details.ts'
import { A2AError, inContext } from '../../protocol/errors.ts'
import type { JsonObject } from '../../protocol/model.ts'
import { errorsOf } from '../errors-of.ts'
import { meantBy } from '../foreign-answer.ts'
import { decodeMessage } from './codec.ts'
import { messageNamed } from './registry.ts'
import { type StatusName, statusCodes } from './status.ts'

/** The error that the end of a call tells; undefined if all is well. */
export async function toldStatus(end: Headers, dialect: ClientDialect): Promise<A2AError | undefined> {
  const code = Number(end.get('grpc-status'))
  if (code === statusCodes.OK) return undefined
  const message = percentDecode(end.get('grpc-message') ?? '')
  const status = names.get(code) ?? 'UNKNOWN'
  const details = detailsIn(end.get('grpc-status-details-bin'))
  const { decodeHttpError } = await errorsOf(dialect)
  const told = decodeHttpError({ status: 500, body: { error: { status, message, details } } })
  if (readDetails(details).reason !== undefined) return told
  return withoutDetails(told, status, message)
}

/** Many servers tell no more than a status, which stands for several errors. */
function withoutDetails(told: A2AError, status: StatusName, message: string): A2AError {
  const { cause, violations, metadata, retryAfter } = told
  const known = (code: A2AError['code'], reason?: string) =>
    inContext(new A2AError(code, message || told.message, { cause, violations, metadata, retryAfter }), { reason })
  if (status === 'UNIMPLEMENTED' && nobodyThere.test(message)) return known('method-not-found', 'wrong-path')
  if (status === 'RESOURCE_EXHAUSTED' && tooLong.test(message)) return known('payload-too-large')
  if (status === 'CANCELLED') return known('unavailable', 'connection-lost')
  const meant = meantBy(message)
  return meant === undefined ? told : known(meant)
}

/** As servers in several languages say that they have no such service or method. */
const nobodyThere = /does not implement the method|unknown (service|method)|method not found|^there is no \//i

const tooLong = /(larger|longer) than/i

const names: ReadonlyMap<number, StatusName> = new Map(
  Object.entries(statusCodes).map(([name, code]) => [code, name as StatusName]),
)

/** What cannot be read is left out: the status and its message still say something. */
function detailsIn(encoded: string | null): readonly JsonObject[] {
  if (encoded === null) return []
  try {
    const { details } = decodeMessage(Status, base64Decode(encoded)) as { readonly details?: readonly JsonObject[] }
    return details ?? []
  } catch {
    return []
  }
}

const Status = messageNamed('google.rpc.Status')

/** The message of a status is UTF-8, of which only printable ASCII stands for itself. */
function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
