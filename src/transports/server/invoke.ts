import type { Json } from '../../base/json.ts'
import type { ServerDialect } from '../../dialects/dialect.ts'
import { expandInputRequestsInEvent, expandInputRequestsInResult } from '../../dialects/input-requests.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { clientTools } from '../../protocol/extensions/client-tools.ts'
import type {
  Call,
  Operation,
  RequestOf,
  ResultOf,
  Service,
  StreamOperation,
  UnaryOperation,
} from '../../protocol/service.ts'

/** A call as a transport has read it off its wire. */
export interface DecodedCall<O extends Operation> {
  readonly dialect: ServerDialect
  readonly operation: O
  readonly params: unknown
  readonly call: Call
}

/** From params to result, in the caller's dialect. */
export async function invokeOperation<O extends UnaryOperation>(
  service: Service,
  received: DecodedCall<O>,
): Promise<Json> {
  const { dialect, operation, call } = received
  const request = requestOf(received)
  const result = await (service as Unary)[operation](request, call)
  const told = knowsRequests(dialect, call) ? result : expandInputRequestsInResult(operation, result)
  return dialect.encodeResult[operation](told, request)
}

/** How a stream is read, as the wire tells it. */
export interface Reading {
  /** The generation that its reader has seen. */
  readonly after: number | undefined
  readonly cancelOnDisconnect?: boolean
}

export interface OpenedStream<O extends StreamOperation> {
  readonly request: RequestOf<O>
  readonly events: AsyncGenerator<StreamEvent>
  /** How its reader is told an event, if it is not as it is. */
  readonly spell?: (event: StreamEvent) => StreamEvent
}

/** The request of a stream, continued after the generation that its reader has seen, and the stream itself. */
export function openStream<O extends StreamOperation>(
  service: Service,
  received: DecodedCall<O>,
  { after, ...reading }: Reading,
): OpenedStream<O> {
  const request: RequestOf<O> = {
    ...requestOf(received),
    ...reading,
    after: received.dialect.cannotResume ? undefined : after,
  }
  const { dialect, operation, call } = received
  const events = (service as Streams)[operation](request, call)
  return { request, events, ...(!knowsRequests(dialect, call) && { spell: expandInputRequestsInEvent }) }
}

function requestOf<O extends Operation>({ dialect, operation, params }: DecodedCall<O>): RequestOf<O> {
  const request = dialect.decodeRequest[operation](params)
  // What is told later is told in the same.
  return 'message' in request || 'url' in request ? { ...request, dialect: dialect.name } : request
}

/** The same as `Service`, seen so that the compiler follows an operation from its request to its result. */
type Unary = { readonly [O in UnaryOperation]: (request: RequestOf<O>, call: Call) => Promise<ResultOf<O>> }

/** Whether the caller gets what it is asked for in the form of the extension, or in one that its dialect has for it. */
function knowsRequests({ hasInputRequests }: ServerDialect, { extensions, activated }: Call): boolean {
  if (hasInputRequests) return true
  if (!extensions?.includes(clientTools)) return false
  activated?.add(clientTools)
  return true
}

type Streams = { readonly [O in StreamOperation]: (request: RequestOf<O>, call: Call) => AsyncGenerator<StreamEvent> }
