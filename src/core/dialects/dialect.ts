import type { Json, JsonObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { A2AError, ErrorCode } from '../protocol/errors.ts'
import type { StreamEvent, TaskEvent } from '../protocol/events.ts'
import type { Task } from '../protocol/model.ts'
import type {
  Call,
  Operation,
  RequestOf,
  ResultOf,
  Service,
  StreamOperation,
  UnaryOperation,
} from '../protocol/service.ts'
import type { RestPrefix } from './rest-routes.ts'
import type { DialectName } from './versions.ts'

/** A transport, as cards name it. */
export type Binding = 'JSONRPC' | 'HTTP+JSON' | 'GRPC'

/** A version of the protocol, or a variant of one: a pure translation between its JSON and the model. */
export interface Dialect {
  readonly name: DialectName
  /** Major.Minor, as in `A2A-Version` and on cards. */
  readonly version: string
  readonly bindings: readonly Binding[]
  /** The JSON-RPC method of each supported operation, or the gRPC method if the dialect has no JSON-RPC binding. */
  readonly methods: Readonly<Partial<Record<Operation, string>>>
  /** Only in dialects that have a gRPC binding. */
  readonly grpc?: GrpcBinding
}

/** A dialect as a gRPC service. */
export interface GrpcBinding extends GrpcErrorForm {
  /** The full name of the service. */
  readonly service: string
  /** The values of `a2a-version` that the service accepts. */
  readonly versions: readonly string[]
  /** Whether a caller that requests the extended card gets the public one if there is no other. */
  readonly hasPublicCard?: boolean
}

/** How the errors of a gRPC service differ from those of its dialect over HTTP. */
export interface GrpcErrorForm {
  /** Errors whose gRPC status differs. */
  readonly statuses?: Readonly<Partial<Record<ErrorCode, 'UNIMPLEMENTED'>>>
  /** Whether messages begin with the class name of the error, by which SDKs of the version recognize it. */
  readonly namesErrors?: boolean
}

/** The half of a dialect that a server needs: it decodes requests and encodes results. */
export interface ServerDialect extends Dialect {
  /** The operation of each method, including other method names that clients use. */
  readonly operations: ReadonlyMap<string, Operation>
  /** Whether a call has features of this dialect only. Decides between dialects with the same method. */
  recognises?(features: CallFeatures): boolean
  /** The operation of a call, if its method alone does not determine it. */
  operationFor?(features: CallFeatures): Operation | undefined
  /** Whether a JSON-RPC request without an id is a notification: it is executed, and has no answer. */
  readonly hasNotifications?: boolean
  /** Throws `A2AError('invalid-params')` that names the field, the expected and the actual value. */
  readonly decodeRequest: { readonly [O in Operation]: (params: unknown) => RequestOf<O> }
  readonly encodeResult: { readonly [O in UnaryOperation]: (result: ResultOf<O>, request: RequestOf<O>) => Json }
  /** Whether streams cannot resume after an event. A resumed stream starts with the complete task. */
  readonly cannotResume?: boolean
  /** Whether callers can name the extensions that they know in a message, instead of in a header. */
  readonly namesExtensionsInMessages?: boolean
  /** Whether the dialect has its own form for input requests, and its readers look for answers in the status. */
  readonly hasInputRequests?: boolean
  /** Whether the content that an agent returns for a task is in its status and among its artifacts. */
  readonly repeatsAnswers?: boolean
  /** Whether callers get this dialect only if they name its version, where another dialect has the same methods. */
  readonly mustBeNamed?: boolean
  /** Whether events have the revision of their task. Then they are the same for every reader, whatever it can show. */
  readonly numbersChanges?: boolean
  /** Whether the encoding of an event does not depend on its reader, so that it can be shared. */
  readonly isReaderIndependent?: boolean
  /** An event may become several objects on the wire, or none. */
  encodeEvent(event: StreamEvent, request: RequestOf<StreamOperation>): readonly JsonObject[]
  /** The error that ends a stream in place of its last event, if any. */
  errorInsteadOf?(event: StreamEvent, request: RequestOf<StreamOperation>): A2AError | undefined
  /** The format of notifications to webhooks that were registered in this dialect. */
  readonly pushFormat: PushFormat
  encodeError(error: A2AError): WireError
  /** Changes a JSON-RPC error for software that reads another form of it. */
  adaptError?(wire: WireError, caller: CallerSoftware, request?: RequestFacts): WireError
  /** The HTTP status of the response to a request that is not JSON or not JSON-RPC. Defaults to 200. */
  readonly malformedStatus?: number
  /** Encodes an error as an HTTP response without JSON-RPC. */
  encodeHttpError(error: A2AError): HttpError
  /** Only in dialects that have a REST binding. */
  readonly rest?: RestServerBinding
  encodeCard(card: AgentCard): JsonObject
  /** Whether cards name the tenant of an interface. Otherwise, the tenant is in the path. */
  readonly hasTenants?: boolean
  /** The header in which an answer names the activated extensions. */
  readonly extensionsHeader: 'a2a-extensions' | 'x-a2a-extensions'
  /** Whether callers that accept only streams read an error before the first event as an event. */
  readonly hasErrorEvents?: boolean
  /** The path at which a GET returns the extended card. Only in versions without a method for it. */
  readonly extendedCardPath?: string
  /** Further paths of JSON-RPC, below the usual one. */
  readonly morePaths?: readonly string[]
  /** Headers of every answer. */
  readonly headers?: Readonly<Record<string, string>>
  /** Only in dialects whose clients disagree about their JSON. */
  readonly callers?: CallerVariants
}

/** Chooses the variant of a dialect that a caller reads and writes. */
export interface CallerVariants {
  /** Identifies the variant that this dialect is. */
  readonly variant: string
  /** `learned` is what the request shows about the other requests of its caller. */
  forCaller(caller: CallerFacts): { readonly dialect: ServerDialect; readonly learned: Partial<PeerForm> }
}

/** What is known about a caller. */
export interface CallerFacts extends Pick<CallerSoftware, 'userAgent'> {
  readonly params: unknown
  /** What earlier requests of this caller have shown. */
  readonly learned?: Partial<PeerForm> | undefined
}

/** How a peer reads and writes what the SDKs of one version treat differently. */
export interface PeerForm {
  readonly fileBytes: FileBytes
  /** Whether the peer has members that came after the first release of its version. */
  readonly hasNewMembers: boolean
}

/** The content of a file in the proto of 0.3: its bytes, as the proto says, or a base64 text of them. */
export type FileBytes = 'raw' | 'base64'

/** The half of a dialect that a client needs: it encodes requests and decodes results. */
export interface ClientDialect extends Dialect, ResponseDecoder {
  /** Only in dialects whose servers disagree about their JSON. */
  readonly servers?: ServerVariants
  readonly encodeRequest: { readonly [O in Operation]: (request: RequestOf<O>) => JsonObject }
  /** The URLs at which a GET may return the extended card of an agent. Only in versions without a method for it. */
  extendedCardUrls?(url: string): readonly string[]
  /** Only in dialects whose errors differ from those that all versions since 0.2 share. */
  readonly errors?: ErrorDecoder
  /** Only in dialects that have a REST binding. */
  readonly rest?: RestClientBinding
  /** Whether streams cannot resume after an event. A resumed stream starts with the complete task. */
  readonly cannotResume?: boolean
  /** Only in dialects whose agents need more than the codec: the service as the client uses it. */
  adaptService?(service: Service, agent: FollowedAgent): Service
}

/** Chooses the variant of a dialect that a server reads and writes. */
export interface ServerVariants {
  readonly form?: PeerForm
  /** How the server reads and writes, and why the client thinks so, as a sentence. */
  readonly explanation?: string
  forServer(server: ServerFacts): ClientDialect
}

/** What is known about a server. */
export interface ServerFacts {
  readonly binding?: Binding
  /** The dialects that the user of the client has chosen. */
  readonly dialects?: readonly DialectName[] | undefined
  /** The form that the user of the client has chosen. */
  readonly fileBytes?: FileBytes | undefined
  readonly headers?: Pick<Headers, 'get'> | undefined
  /** The JSON of an answer. */
  readonly wire?: unknown
}

/** What the client knows about a dialect before it loads it. */
export interface DialectInfo extends Pick<ClientDialect, 'name' | 'version' | 'bindings' | 'cannotResume'> {
  /** A profile of the dialect, which no card names: it is spoken with agents of users who choose it. */
  readonly profile?: DialectName
  /** An older version that is the same in these bindings. */
  readonly olderEqualVersion?: string
  /** An older version that this one only adds to. Where a card names both, this one is used. */
  readonly extendsVersion?: string
  /** The JSON-RPC method to send a message. An agent that does not know it supports no dialect with the same method. */
  readonly sendMethod: string | undefined
  /** Returns the dialect. Versions before 1.0 are loaded when an agent needs them. */
  load(): ClientDialect | Promise<ClientDialect>
}

/** What a client knows about an agent, and how it reads the agent's streams. */
export interface FollowedAgent {
  /** The headers of the answer with the card. */
  readonly headers: Pick<Headers, 'get'> | undefined
  /** Whether the card declares streams. */
  readonly mayStream: boolean
  /** Emits the events of a stream until its task has ended, even if the agent keeps the stream open. */
  follow(
    open: (signal: AbortSignal) => AsyncGenerator<StreamEvent>,
    options: FollowOptions,
  ): AsyncGenerator<StreamEvent, void>
}

export interface FollowOptions {
  readonly service: Service
  readonly call: Call
  /** Where the reader says which task the stream is about. */
  readonly position: { taskId?: string }
  /** Called with the ids of tasks that the client has canceled. */
  readonly cancelListeners: Set<(taskId: string) => void>
}

/** The features of a JSON-RPC call that determine its dialect. */
export interface CallFeatures {
  /** Major.Minor. */
  readonly version: string | undefined
  readonly method: string
  readonly params: unknown
  /** Whether the caller accepts an event stream. */
  readonly acceptsStream: boolean
}

export interface ResponseDecoder {
  /** Throws `A2AError('invalid-agent-response')` that names the field, the expected and the actual value. */
  readonly decodeResult: { readonly [O in UnaryOperation]: (wire: unknown, request: RequestOf<O>) => ResultOf<O> }
  decodeEvent(wire: unknown, request: RequestOf<StreamOperation>): StreamEvent
  decodeCard(wire: unknown): AgentCard
  /** Also reads cards that break the schema in known ways. For cards that no dialect reads by its schema. */
  decodeLenientCard?(wire: unknown): AgentCard
}

/** What a request says about the software that sent it. */
export interface CallerSoftware {
  /** The `User-Agent` header, or an empty text. */
  readonly userAgent: string
  /** Major.Minor. Undefined if the caller names no version. */
  readonly version: string | undefined
}

/** The method and the params of a JSON-RPC request that failed, as far as they could be read. */
export type RequestFacts = Pick<CallFeatures, 'method' | 'params'>

/** The `error` member of a JSON-RPC response. */
export interface WireError {
  readonly code: number
  readonly message: string
  readonly data?: Json
}

/** An error as an HTTP response without JSON-RPC. */
export interface HttpError {
  readonly status: number
  readonly body: JsonObject
}

export interface ErrorDecoder {
  decodeError(error: WireError): A2AError
  decodeHttpError(error: HttpError): A2AError
}

/** A REST call, as the server received it. */
export interface RestCall {
  readonly operation: Operation
  readonly tenant?: string
  readonly taskId?: string
  readonly configId?: string
  readonly query: Readonly<Record<string, string>>
  /** Undefined if the request had no body. */
  readonly body: unknown
}

/** The server's side of a dialect over REST. */
export interface RestServerBinding {
  readonly prefix: RestPrefix
  /** The content type of responses, unless the caller requests another one. */
  readonly contentType: string
  /** An older version that is identical over REST. */
  readonly olderEqualVersion?: string
  /** Whether a call has features of this dialect only. Decides between dialects with the same paths. */
  recognises(call: RestCall): boolean
  /** Collects the params of the operation from path, query and body. */
  params(call: RestCall): unknown
  /** Wraps send results and stream events, if they differ from those of JSON-RPC. */
  wrap?(wire: JsonObject): JsonObject
  /** Whether a missing extended card is answered with 404 instead of an A2A error. */
  readonly missingCardIsNotFound?: boolean
  /** Whether a task is canceled if its caller leaves the stream before it ends. */
  readonly cancelsOnDisconnect?: boolean
  /** Whether the events of a stream include their position in the trace, if the caller sends one. */
  readonly hasTraceMetadata?: boolean
}

/** The client's side of a dialect over REST. */
export interface RestClientBinding {
  /** The content type of requests. */
  readonly contentType: string
  readonly prefix: RestPrefix
  /** Turns the params of an operation, as `encodeRequest` returned them, into an HTTP request. */
  toRequest(operation: Operation, wire: JsonObject): RestRequest
}

export interface RestRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  /** The path after the prefix, percent-encoded. */
  readonly path: string
  readonly query?: JsonObject
  readonly body?: JsonObject
  /** The body that some agents expect instead. */
  readonly alternativeBody?: JsonObject
}

/** What a webhook is notified of: every status, the statuses that end or interrupt a task, artifacts, or replies. */
export type PushKind = 'status' | 'rest' | 'artifact' | 'message'

/** The format of a dialect's push notifications. */
export interface PushFormat {
  readonly contentType: string
  /** The kinds that the format supports. */
  readonly kinds: readonly PushKind[]
  /** The kinds that are sent unless the operator chooses others. */
  readonly defaultKinds: readonly PushKind[]
  /** Whether the notification of an event is the task at that time. If so, `encode` gets the task. */
  sendsTask(event: TaskEvent): boolean
  /** Whether a config without an id replaces the previous one without an id. */
  readonly replacesUnnamed: boolean
  /** Encodes a notification. `taskId` is the id by which the receiver knows the task. */
  encode(event: StreamEvent, taskId: string): JsonObject
}

/** The push format of the versions before 1.0: the task itself, without an envelope. */
export function bareTaskPushFormat(encodeTask: (task: Task) => JsonObject): PushFormat {
  return {
    contentType: 'application/json',
    kinds: ['status', 'rest'],
    defaultKinds: ['rest'],
    sendsTask: () => true,
    replacesUnnamed: true,
    encode(event) {
      if (event.type !== 'task') throw new Error(`Expected a task, got an event of type ${event.type}.`)
      return encodeTask(event.task)
    },
  }
}

/** `aliases` are other names of methods. */
export function operationsByMethod(
  methods: Dialect['methods'],
  aliases: Readonly<Record<string, Operation>>,
): ServerDialect['operations'] {
  const operations = new Map(Object.entries(aliases))
  for (const [operation, method] of Object.entries(methods)) operations.set(method, operation as Operation)
  return operations
}
