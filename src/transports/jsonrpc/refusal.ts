import type { ServerDialect } from '../../dialects/dialect.ts'
import type { Outgoing } from '../../http/exchange.ts'
import { eventText, oneLine, sseHeaders } from '../../http/sse.ts'
import type { A2AError } from '../../protocol/errors.ts'
import { refusalHeaders } from '../refusal-headers.ts'
import { failureText, type RequestId } from './envelope.ts'
import { httpStatus } from './http-status.ts'

export const jsonHeaders = { 'content-type': 'application/json' }

export type TextAnswer = Outgoing & { readonly body: string }

/** An error as the answer to a call. */
export function refusal(id: RequestId, dialect: ServerDialect, error: A2AError): TextAnswer {
  return {
    status: httpStatus[error.code],
    headers: { ...jsonHeaders, ...refusalHeaders(error) },
    body: failureText(id, dialect.encodeError(error)),
  }
}

/** SDKs before 1.0 that await a stream read no other answer, unless HTTP itself says that something is wrong. */
export function inStream(answer: TextAnswer): Outgoing {
  if (answer.status !== 200) return answer
  return { status: 200, headers: sseHeaders, body: eventText({ event: 'error', data: oneLine(answer.body) }) }
}
