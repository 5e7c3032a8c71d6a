import type { DescMethod } from '@bufbuild/protobuf'
import type { Incoming } from '../../http/exchange.ts'
import type { Json } from '../../protocol/model.ts'
import type { ErrorEncoder } from './rpc-status.ts'

/** One gRPC call and its answer, as the core sees them. Rims translate from and to HTTP/2. It never throws. */
export type GrpcExchange = (incoming: GrpcIncoming) => Promise<GrpcOutgoing>

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

/** What comes with the messages of a call. */
export interface RpcCall {
  readonly incoming: Incoming
  /** Aborts when the caller has gone, or its deadline has passed. */
  readonly signal: AbortSignal
}

/** How one method is answered: by JSON for JSON, whose binary form `method` describes. */
export type Rpc = {
  readonly method: DescMethod
  readonly encodeError: ErrorEncoder
} & (
  | { readonly type: 'unary'; answer(request: unknown, call: RpcCall): Promise<Json> }
  | { readonly type: 'stream'; answer(request: unknown, call: RpcCall): AsyncIterable<Json> }
  | { readonly type: 'conversation'; answer(requests: AsyncIterable<unknown>, call: RpcCall): AsyncIterable<Json> }
)
