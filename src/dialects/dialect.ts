import type { AgentCard } from '../protocol/card.ts'
import type { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Json, JsonObject } from '../protocol/model.ts'
import type { Operation, Service } from '../protocol/service.ts'

/** One version of the protocol: a pure translation between its JSON and the model. */
export interface Dialect {
  /** Major.Minor, as in `A2A-Version`. */
  readonly version: string
  /** The JSON-RPC method of each operation. */
  readonly methods: Readonly<Record<Operation, string>>
  /** The operation of each JSON-RPC method, also under other names that callers use in the wild. */
  readonly operations: ReadonlyMap<string, Operation>
  /** Throws `A2AError('invalid-params')` that names the field, what was expected and what came. */
  readonly decode: { readonly [O in Operation]: (params: unknown) => RequestOf<O> }
  readonly encode: { readonly [O in UnaryOperation]: (result: ResultOf<O>) => Json }
  encodeEvent(event: StreamEvent): JsonObject
  encodeError(error: A2AError): WireError
  encodeCard(card: AgentCard): JsonObject
}

export type StreamOperation = 'streamMessage' | 'subscribeToTask'
export type UnaryOperation = Exclude<Operation, StreamOperation>

export type RequestOf<O extends Operation> = Parameters<Service[O]>[0]
export type ResultOf<O extends UnaryOperation> = Awaited<ReturnType<Service[O]>>

export function isStream(operation: Operation): operation is StreamOperation {
  return operation === 'streamMessage' || operation === 'subscribeToTask'
}

/** The `error` member of a JSON-RPC answer. */
export interface WireError {
  readonly code: number
  readonly message: string
  readonly data?: Json
}

export function operationsByMethod(
  methods: Dialect['methods'],
  aliases: Readonly<Record<string, Operation>>,
): Dialect['operations'] {
  const operations = new Map(Object.entries(aliases))
  for (const [operation, method] of Object.entries(methods)) operations.set(method, operation as Operation)
  return operations
}
