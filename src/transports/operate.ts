import type { RequestOf, ResultOf, ServerDialect, StreamOperation, UnaryOperation } from '../dialects/dialect.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Json } from '../protocol/model.ts'
import type { Call, Operation, Service } from '../protocol/service.ts'

/** A call as a transport has read it off its wire. */
export interface Received<O extends Operation> {
  readonly dialect: ServerDialect
  readonly operation: O
  readonly params: unknown
  readonly call: Call
}

/** From params to result, in the caller's dialect. */
export async function operate<O extends UnaryOperation>(service: Service, received: Received<O>): Promise<Json> {
  const { dialect, operation, call } = received
  const request = requestOf(received)
  const result = await (service as Unary)[operation](request, call)
  return dialect.encodeResult[operation](result, request)
}

/** How a stream is read, as the wire tells it. */
export interface Reading {
  /** The generation that its reader has seen. */
  readonly after: number | undefined
  readonly cancelOnDisconnect?: boolean
}

/** The request of a stream, continued after the generation that its reader has seen, and the stream itself. */
export function openStream<O extends StreamOperation>(
  service: Service,
  received: Received<O>,
  { after, ...reading }: Reading,
): { readonly request: RequestOf<O>; readonly events: AsyncGenerator<StreamEvent> } {
  const request: RequestOf<O> = {
    ...requestOf(received),
    ...reading,
    after: received.dialect.startsOver ? undefined : after,
  }
  const events = (service as Streams)[received.operation](request, received.call)
  return { request, events }
}

function requestOf<O extends Operation>({ dialect, operation, params }: Received<O>): RequestOf<O> {
  const request = dialect.decodeRequest[operation](params)
  // What is told later is told in the same.
  return 'message' in request || 'url' in request ? { ...request, dialect: dialect.name } : request
}

/** The same as `Service`, seen so that the compiler follows an operation from its request to its result. */
type Unary = { readonly [O in UnaryOperation]: (request: RequestOf<O>, call: Call) => Promise<ResultOf<O>> }
type Streams = { readonly [O in StreamOperation]: (request: RequestOf<O>, call: Call) => AsyncGenerator<StreamEvent> }
