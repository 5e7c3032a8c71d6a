import type { DescMethod } from '@bufbuild/protobuf'
import type { Json } from '../../base/json.ts'
import type { Incoming } from '../../http/exchange.ts'
import type { AnswerTarget } from '../server/large-answers.ts'
import type { EventNumbers } from './codec.ts'
import type { ErrorEncoder } from './status.ts'

/** Answers one gRPC call. `src/core/node/` translates it from and to HTTP/2. Never throws: a failure becomes a status. */
export type GrpcExchange = (incoming: GrpcIncoming) => Promise<GrpcOutgoing>

export interface GrpcIncoming extends Incoming {
  /** The body as it arrives, for calls that are answered before its end. */
  chunks(): AsyncIterable<Uint8Array>
}

/** Headers, then framed messages, then trailers. Without a message, headers and trailers are one block. */
export type GrpcOutgoing =
  | { readonly headers: Metadata; readonly message?: Uint8Array; readonly trailers: Metadata }
  /** `rest` is read only as fast as the caller reads. It returns the trailers. */
  | { readonly headers: Metadata; readonly first: Uint8Array; readonly rest: AsyncGenerator<Uint8Array, Metadata> }

export type Metadata = Readonly<Record<string, string>>

/** Answers one method in JSON; `method` describes its binary form. */
export type Rpc = {
  readonly method: DescMethod
  readonly encodeError: ErrorEncoder
} & (
  | { readonly type: 'unary'; answer(read: ReadRequest, incoming: Incoming, reply: Reply): Promise<Json> }
  | {
      readonly type: 'stream'
      answer(read: ReadRequest, incoming: Incoming, reply: Reply): AsyncIterable<StreamMessage>
    }
  | {
      readonly type: 'bidirectional'
      answer(requests: AsyncIterable<unknown>, incoming: Incoming): AsyncIterable<StreamMessage>
    }
)

/** Reads the message of a call as JSON. Called after authentication: the server reads no body of a rejected caller. */
export type ReadRequest = () => Promise<unknown>

/** What the server sends before the messages. */
export interface Reply {
  headers: Metadata
  /** Where long messages are counted while they wait for their reader. Known once the caller is authenticated. */
  target?: AnswerTarget
}

/** One message of a stream, with its event number if a caller can resume after it. */
export interface StreamMessage extends EventNumbers {
  readonly json: Json
}
