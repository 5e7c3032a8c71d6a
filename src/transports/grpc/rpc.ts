import type { DescMethod } from '@bufbuild/protobuf'
import type { Json } from '../../base/json.ts'
import type { Incoming } from '../../http/exchange.ts'
import type { Numbers } from './codec.ts'
import type { ErrorEncoder } from './status.ts'

export interface GrpcIncoming extends Incoming {
  /** The body as it comes, for calls that are answered before its end. */
  chunks(): AsyncIterable<Uint8Array>
}

export type Metadata = Readonly<Record<string, string>>

/** Headers, then messages in their frames, then trailers. Where there is no message, all of it is one block. */
export type GrpcOutgoing =
  | { readonly headers: Metadata; readonly message?: Uint8Array; readonly trailers: Metadata }
  /** Pulled: nothing is read from `rest` while the caller does not read. It returns the trailers. */
  | { readonly headers: Metadata; readonly first: Uint8Array; readonly rest: AsyncGenerator<Uint8Array, Metadata> }

/** One gRPC call and its answer, as the core sees them. Rims translate from and to HTTP/2. It never throws. */
export type GrpcExchange = (incoming: GrpcIncoming) => Promise<GrpcOutgoing>

/** Reads the message of a call, as JSON. Not done for the caller beforehand: who is not admitted is not read. */
export type ReadRequest = () => Promise<unknown>

/** What is sent before the messages. */
export interface Reply {
  headers: Metadata
}

/** One of many answers, and its number if the stream can be gone on with after it. */
export interface Told extends Numbers {
  readonly json: Json
}

/** How one method is answered: in JSON, whose binary form `method` describes. */
export type Rpc = {
  readonly method: DescMethod
  readonly encodeError: ErrorEncoder
} & (
  | { readonly type: 'unary'; answer(read: ReadRequest, incoming: Incoming, reply: Reply): Promise<Json> }
  | { readonly type: 'stream'; answer(read: ReadRequest, incoming: Incoming, reply: Reply): AsyncIterable<Told> }
  | { readonly type: 'conversation'; answer(requests: AsyncIterable<unknown>, incoming: Incoming): AsyncIterable<Told> }
)
