import type { Json, JsonObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { A2AError } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Task } from '../protocol/model.ts'
import type { Operation, RequestOf, ResultOf, StreamOperation, UnaryOperation } from '../protocol/service.ts'

/** What a webhook can be told: every status, those at which a task rests, chunks of artifacts, answers without a task. */
export type PushKind = 'status' | 'rest' | 'artifact' | 'message'

/** How a dialect tells webhooks. */
export interface PushFormat {
  readonly contentType: string
  /** What it can tell, and what it does unless that is chosen. */
  readonly kinds: readonly PushKind[]
  readonly defaultKinds: readonly PushKind[]
  /** Whether an event is told as the task as of then, and `encode` gets that. */
  readonly sendsTask: boolean
  /** A config that is registered without an id takes the place of the one before. */
  readonly replacesUnnamed: boolean
  /** The body, under the id by which the receiver knows the task. */
  encode(event: StreamEvent, taskId: string): JsonObject
}

/** Before 1.0 a webhook gets the task itself, without an envelope. */
export function bareTaskPushFormat(encodeTask: (task: Task) => JsonObject): PushFormat {
  return {
    contentType: 'application/json',
    kinds: ['status', 'rest'],
    defaultKinds: ['rest'],
    sendsTask: true,
    replacesUnnamed: true,
    encode(event) {
      if (event.type !== 'task') throw new Error(`Expected a task, got an event of type ${event.type}.`)
      return encodeTask(event.task)
    },
  }
}

export type DialectName = 'v0.1' | 'v0.2' | 'v0.3' | 'v0.3-house' | 'v0.3-proto' | 'v1.0'

/** As cards name them. */
export type Binding = 'JSONRPC' | 'HTTP+JSON' | 'GRPC'

/** One version of the protocol: a pure translation between its JSON and the model. */
export interface Dialect {
  readonly name: DialectName
  /** Major.Minor, as in `A2A-Version` and on cards. */
  readonly version: string
  /** What carries it. */
  readonly bindings: readonly Binding[]
  /** The method of each operation that it has, in JSON-RPC or else in gRPC. */
  readonly methods: Readonly<Partial<Record<Operation, string>>>
}

/** What tells the dialect of a JSON-RPC call. */
export interface CallFeatures {
  /** Major.Minor. */
  readonly version: string | undefined
  readonly method: string
  readonly params: unknown
  /** The caller is ready for a stream. */
  readonly acceptsStream: boolean
}

/** The `error` member of a JSON-RPC answer. */
export interface WireError {
  readonly code: number
  readonly message: string
  readonly data?: Json
}

export interface HttpError {
  readonly status: number
  readonly body: JsonObject
}

/** A call as REST has it. */
export interface RestCall {
  readonly operation: Operation
  readonly tenant?: string
  readonly taskId?: string
  readonly configId?: string
  readonly query: Readonly<Record<string, string>>
  /** Undefined if there was none. */
  readonly body: unknown
}

/** How a dialect is spoken over REST. */
export interface RestServerBinding {
  /** Of answers, if the caller does not say otherwise. */
  readonly contentType: string
  /** A version before it that is the same over REST. */
  readonly olderEqualVersion?: string
  /** Whether a request bears the marks of this dialect, where several share a path. */
  recognises(call: RestCall): boolean
  /** The params of the operation, gathered from path, query and body. */
  params(call: RestCall): unknown
  /** What a send answers and a stream tells, if it is not sent as JSON-RPC has it. */
  wrap?(wire: JsonObject): JsonObject
  /** The extended card is a page, and not found where there is none. */
  readonly missingCardIsNotFound?: boolean
  /** Who leaves the stream of a message before its end takes the task along. */
  readonly cancelsOnDisconnect?: boolean
}

/** The half that a server needs: requests come in, results go out. */
export interface ServerDialect extends Dialect {
  /** The operation of each method, also under other names that callers use in the wild. */
  readonly operations: ReadonlyMap<string, Operation>
  /** Whether a call that several dialects have bears the marks of this one. */
  recognises?(proposal: CallFeatures): boolean
  /** Where the method alone does not tell the operation. */
  operationFor?(proposal: CallFeatures): Operation | undefined
  /** A call of JSON-RPC need not have an id; its answer has `null` then. */
  readonly allowsMissingId?: boolean
  /** Throws `A2AError('invalid-params')` that names the field, what was expected and what came. */
  readonly decodeRequest: { readonly [O in Operation]: (params: unknown) => RequestOf<O> }
  readonly encodeResult: { readonly [O in UnaryOperation]: (result: ResultOf<O>, request: RequestOf<O>) => Json }
  /** A stream of it cannot go on after an event: resumed, it begins with all there is. */
  readonly cannotResume?: boolean
  /** It has a form of its own for what an agent asks its caller for. */
  readonly hasInputRequests?: boolean
  /** What it says of an event is the same for all who read it. */
  readonly isReaderIndependent?: boolean
  /** One event may be several on the wire, or none. */
  encodeEvent(event: StreamEvent, request: RequestOf<StreamOperation>): readonly JsonObject[]
  /** What a stream is broken off with behind an event, although the event tells it, too. */
  errorAfter?(event: StreamEvent): A2AError | undefined
  /** How webhooks that were registered in it are told. */
  readonly pushFormat: PushFormat
  encodeError(error: A2AError): WireError
  /** How the same error looks where HTTP itself carries it. */
  encodeHttpError(error: A2AError): HttpError
  /** Only in dialects that have a REST binding. */
  readonly rest?: RestServerBinding
  encodeCard(card: AgentCard): JsonObject
}

export function operationsByMethod(
  methods: Dialect['methods'],
  aliases: Readonly<Record<string, Operation>>,
): ServerDialect['operations'] {
  const operations = new Map(Object.entries(aliases))
  for (const [operation, method] of Object.entries(methods)) operations.set(method, operation as Operation)
  return operations
}

/** How a dialect is read. */
export interface ResponseDecoder {
  /** Throws `A2AError('invalid-agent-response')` that names the field, what was expected and what came. */
  readonly decodeResult: { readonly [O in UnaryOperation]: (wire: unknown, request: RequestOf<O>) => ResultOf<O> }
  decodeEvent(wire: unknown, request: RequestOf<StreamOperation>): StreamEvent
  decodeCard(wire: unknown): AgentCard
  /** Also reads cards that break the schema in known ways. For cards that no dialect reads by its schema. */
  decodeLenientCard?(wire: unknown): AgentCard
}

/** How a dialect tells what is wrong. */
export interface ErrorDecoder {
  decodeError(error: WireError): A2AError
  /** Where HTTP itself carries the error. */
  decodeHttpError(error: HttpError): A2AError
}

export interface RestRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** Behind the prefix, percent-encoded. */
  readonly path: string
  readonly query?: JsonObject
  readonly body?: JsonObject
  /** What some agents want instead. */
  readonly alternativeBody?: JsonObject
}

/** How a dialect asks over REST. */
export interface RestClientBinding {
  /** Of requests. */
  readonly contentType: string
  /** What its paths begin with, such as `/v1`. */
  readonly prefix: string
  /** Where the request of an operation goes, as `encodeRequest` wrote it. */
  toRequest(operation: Operation, wire: JsonObject): RestRequest
}

/** The half that a client needs: requests go out, results come in. */
export interface ClientDialect extends Dialect, ResponseDecoder {
  readonly encodeRequest: { readonly [O in Operation]: (request: RequestOf<O>) => JsonObject }
  /** Set if its errors differ from those that all versions since 0.2 have in common. */
  readonly errors?: ErrorDecoder
  /** Only in dialects that have a REST binding. */
  readonly rest?: RestClientBinding
  /** A stream of it cannot go on after an event: resumed, it begins with all there is. */
  readonly cannotResume?: boolean
}

/** A dialect that a client can speak, as far as it has to be known before anybody speaks it. */
export interface DialectInfo extends Pick<ClientDialect, 'name' | 'version' | 'bindings' | 'cannotResume'> {
  /** Its method of JSON-RPC to send by: who does not know it speaks no dialect that has the same. */
  readonly sendMethod: string | undefined
  /** The dialect itself. Older ones are loaded when an agent speaks them. */
  load(): ClientDialect | Promise<ClientDialect>
}
