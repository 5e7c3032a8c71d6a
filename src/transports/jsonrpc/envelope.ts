import type { Json } from '../../base/json.ts'
import type { WireError } from '../../dialects/dialect.ts'
import { A2AError } from '../../protocol/errors.ts'

export function readEnvelope(body: unknown): Envelope {
  if (Array.isArray(body)) throw invalidRequest('Batches are not part of A2A: send one request at a time.')
  if (typeof body !== 'object' || body === null) throw invalidRequest('A JSON-RPC request is an object.')
  return body as Envelope
}

/** JSON-RPC 2.0 as A2A uses it: one request, always with an answer. */

export type RequestId = string | number | null

/** Read before all else, so that also an error about the rest can be told apart by its id. Undefined if it is missing. */
export function readId({ id }: Envelope): RequestId | undefined {
  if (id === undefined || id === null || Number.isSafeInteger(id)) return id as RequestId | undefined
  // It comes back with every event of a stream.
  if (typeof id === 'string' && id.length <= 256) return id
  throw invalidRequest('id must be a string of at most 256 characters, an integer or null.')
}

export function missingId(): A2AError {
  return invalidRequest('id is missing: every request of A2A is answered.')
}

export interface MethodCall {
  readonly method: string
  readonly params: unknown
}

export function readCall(envelope: Envelope, isLenient = false): MethodCall {
  const { jsonrpc, method, params } = envelope
  if (isOfMesh(envelope)) {
    throw invalidRequest('This is an envelope of the agent mesh, and here JSON-RPC is spoken: send it to the mesh.')
  }
  if (jsonrpc !== '2.0' && !(isLenient && jsonrpc === undefined)) throw invalidRequest('jsonrpc must be "2.0".')
  if (typeof method !== 'string') throw invalidRequest('method must be a string.')
  return { method, params }
}

export function successText(id: RequestId, result: Json): string {
  return `${successStart(id)}${JSON.stringify(result)}}`
}

export function failureText(id: RequestId, error: WireError): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error })
}

/** What stands before the result; behind it stands the end of the object. */
export function successStart(id: RequestId): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":`
}

type Envelope = Readonly<Record<string, unknown>>

function invalidRequest(message: string): A2AError {
  return new A2AError('invalid-request', message)
}

function isOfMesh({ jsonrpc, message_id, message_type, sender_id }: Envelope): boolean {
  return jsonrpc === undefined && [message_id, message_type, sender_id].every((member) => typeof member === 'string')
}
