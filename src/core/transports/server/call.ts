import { defined, type Json } from '../../base/json.ts'
import { readTrace, type Trace } from '../../base/trace-context.ts'
import type { ServerDialect } from '../../dialects/dialect.ts'
import { parseVersion } from '../../dialects/negotiate.ts'
import {
  eventsForReader,
  keepsLastChunk,
  type ReaderForm,
  readerFormOf,
  resultForReader,
} from '../../dialects/reader-form.ts'
import { BodyConsumed, BodyTooLarge, type Incoming } from '../../http/exchange.ts'
import { isJson, JsonError, parseJsonBody } from '../../http/json.ts'
import { Overloaded, retryAfterOverload } from '../../http/load.ts'
import { isForwarded } from '../../http/origin.ts'
import { A2AError, invalidParams, StoreUnavailable } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { clientTools } from '../../protocol/extensions/client-tools.ts'
import { hopsHeader } from '../../protocol/extensions/lineage.ts'
import { callStream, callUnary, isStream } from '../../protocol/intercept.ts'
import { ownerOf, type Principal, type Task } from '../../protocol/model.ts'
import type {
  Call,
  Operation,
  RequestOf,
  ResultOf,
  SendConfiguration,
  Service,
  StreamOperation,
  UnaryOperation,
} from '../../protocol/service.ts'
import { type AnswerTarget, answersOf, minLargeLength, reserveAnswer } from './large-answers.ts'
import type { WireOptions } from './options.ts'

/** A call whose parameters a transport has read, and that is not decoded yet. */
export interface WireRequest<O extends Operation> {
  readonly dialect: ServerDialect
  readonly operation: O
  readonly params: unknown
  readonly call: WireCall
}

/** Decodes the parameters, calls the service and encodes the result, in the caller's dialect. */
export async function invokeOperation<O extends UnaryOperation>(
  service: Service,
  wireRequest: WireRequest<O>,
): Promise<Json> {
  const request = decodeRequest(wireRequest)
  const result = await callUnary(service, wireRequest.operation, request, wireRequest.call)
  return encodeResult(result, request, wireRequest)
}

export interface TextOptions {
  readonly target: AnswerTarget
  /** Converts the encoded result, as REST does in some dialects. */
  readonly wrap?: (result: Json) => Json
}

/** The same, with the result as a JSON text that is counted until it is sent. */
export async function invokeForText<O extends UnaryOperation>(
  service: Service,
  wireRequest: WireRequest<O>,
  { target, wrap }: TextOptions,
): Promise<string> {
  const { operation, call } = wireRequest
  const request = decodeRequest(wireRequest)
  const isRead = operation === 'getTask' || operation === 'listTasks'
  const answers = isRead ? answersOf(service, () => answerKey(wireRequest, request)) : undefined
  answers?.requireRoom(target)
  const result = await callUnary(service, operation, request, call)
  const encodeText = () => {
    const encoded = encodeResult(result, request, wireRequest)
    return stringify(wrap ? wrap(encoded) : encoded)
  }
  // A task looks the same to all callers that may see it, until its next event. A list has no generation.
  if (answers) return answers.encode(encodeText, (result as Partial<Task>).generation, target)
  const text = encodeText()
  if (text.length >= minLargeLength) reserveAnswer({ bytes: text.length }, target)
  return text
}

/** Executes a call whose caller wants no answer. A send does not wait for the agent, and a stream ends after its first event. */
export async function notifyOperation<O extends Operation>(
  service: Service,
  wireRequest: WireRequest<O>,
): Promise<void> {
  const { operation, call } = wireRequest
  const request = decodeRequest(wireRequest)
  if (isStream(operation)) {
    for await (const _ of callStream(service, operation, request as RequestOf<StreamOperation>, call)) return
    return
  }
  await callUnary(service, operation, withoutWaiting(request), call)
}

function withoutWaiting<R extends object>(request: R): R {
  if (!('message' in request)) return request
  const { configuration } = request as { readonly configuration?: SendConfiguration }
  return { ...request, configuration: { ...configuration, returnImmediately: true } }
}

/** Identifies what is requested, for whom and in which form. */
function answerKey<O extends UnaryOperation>({ dialect, call }: WireRequest<O>, request: RequestOf<O>): string {
  const form = formFor(dialect, call)
  return JSON.stringify([ownerOf(call.principal), dialect.name, dialect.callers?.variant, form, request])
}

function encodeResult<O extends UnaryOperation>(
  result: ResultOf<O>,
  request: RequestOf<O>,
  { dialect, operation, call }: WireRequest<O>,
): Json {
  const form = formFor(dialect, call)
  const readable = form ? resultForReader(operation, result, form, request) : result
  return dialect.encodeResult[operation](readable, request)
}

export interface StreamOptions {
  /** The generation of the last event that the reader has seen. */
  readonly after: number | undefined
  readonly cancelOnDisconnect?: boolean
  /** Include the position in the trace in the events. */
  readonly traceMetadata?: boolean
}

export interface OpenedStream<O extends StreamOperation> {
  readonly request: RequestOf<O>
  readonly events: AsyncGenerator<StreamEvent>
  /** Applied to every event before it is encoded: what this reader gets of it. */
  readonly adapt?: (event: StreamEvent) => StreamEvent | readonly StreamEvent[]
}

/** Decodes the parameters and opens the stream, after the last event that its reader has seen. */
export function openStream<O extends StreamOperation>(
  service: Service,
  wireRequest: WireRequest<O>,
  { after, ...options }: StreamOptions,
): OpenedStream<O> {
  const { dialect, operation, call } = wireRequest
  const request: RequestOf<O> = {
    ...decodeRequest(wireRequest),
    ...options,
    after: dialect.cannotResume ? undefined : after,
  }
  const events = callStream(service, operation, request, call)
  const form = formFor(dialect, call)
  return { request, events, ...defined({ adapt: form && ((event: StreamEvent) => eventsForReader(event, form)) }) }
}

/** A call from the wire. A class, so that members that few calls need are computed only when they are read. */
export class WireCall implements Call {
  readonly principal: Principal
  readonly idempotencyKey: string | undefined
  extensions: readonly string[] | undefined
  activated: Set<string> | undefined
  readonly trace: Trace | undefined
  readonly #incoming: Incoming
  readonly #originOf: WireOptions['originOf']
  readonly #tenant: string | undefined

  constructor(incoming: Incoming, principal: Principal, options: Pick<WireOptions, 'originOf' | 'tenant'>) {
    this.principal = principal
    this.idempotencyKey = readIdempotencyKey(incoming)
    this.extensions = readExtensions(incoming)
    this.activated = this.extensions && new Set()
    const traceparent = incoming.header('traceparent')
    this.trace = traceparent ? readTrace(traceparent, () => incoming.header('tracestate')) : undefined
    this.#incoming = incoming
    this.#originOf = options.originOf
    this.#tenant = options.tenant
  }

  /** Adds extensions that the caller names in a message. */
  declareExtensions(uris: readonly string[]): void {
    this.extensions = [...new Set([...(this.extensions ?? []), ...uris])]
    this.activated ??= new Set()
  }

  /** Throws if the caller names a tenant that the agent does not serve. */
  requireTenant(tenant: string): void {
    if (tenant !== this.#tenant) throw unknownTenant(tenant)
  }

  get signal(): AbortSignal {
    return this.#incoming.signal
  }

  header(name: string): string | undefined {
    return this.#incoming.header(name)
  }

  get userAgent(): string | undefined {
    return this.#incoming.header('user-agent')
  }

  get isForwarded(): boolean {
    return isForwarded(this.#incoming)
  }

  get hops(): number | undefined {
    const header = this.#incoming.header(hopsHeader)
    return header !== undefined && /^\d{1,4}$/.test(header) ? Number(header) : undefined
  }

  get origin(): string | undefined {
    return this.#originOf?.(this.#incoming)
  }
}

export interface BodyLimits {
  readonly bodyLimit: number
  readonly jsonDepth: number
}

/** Reads a JSON body. A body that is compressed or not declared as JSON is rejected unread. */
export function readBody(incoming: Incoming, limits: BodyLimits): Promise<unknown> {
  return readJsonBody(incoming, limits, false)
}

/** Reads a JSON body that may be missing. */
export function readOptionalBody(incoming: Incoming, limits: BodyLimits): Promise<unknown> {
  return readJsonBody(incoming, limits, true)
}

/** The Major.Minor version that the caller names in a header or in the query (A2A 1.0 §3.2.6). */
export function readVersion(incoming: Pick<Incoming, 'header' | 'query'>): string | undefined {
  return parseVersion(incoming.header('a2a-version')) ?? parseVersion(queryParameter(incoming, 'A2A-Version'))
}

/** Whether the caller accepts a stream, for methods that are both unary and streaming. */
export function acceptsStream(incoming: Incoming): boolean {
  return incoming.header('accept')?.includes('text/event-stream') === true
}

/** Whether the caller accepts nothing but a stream. */
export function acceptsOnlyStream(incoming: Incoming): boolean {
  const ranges = incoming.header('accept')?.split(',') ?? []
  return ranges.length > 0 && ranges.every((range) => range.split(';', 1)[0]?.trim() === 'text/event-stream')
}

/** The generation after which a stream is to be resumed. `EventSource` sends the header by itself. */
export function readResumePoint(incoming: Incoming): number | undefined {
  const header = incoming.header('last-event-id')
  if (header !== undefined) return readGeneration('Last-Event-ID', header)
  const query = queryParameter(incoming, 'lastEventId')
  return query === undefined ? undefined : readGeneration('lastEventId', query)
}

export function readIdempotencyKey(incoming: Incoming): string | undefined {
  const key = incoming.header('idempotency-key')
  if (key !== undefined && !/^[ -~]{1,255}$/.test(key)) {
    throw invalidParams('Idempotency-Key', 'expected 1 to 255 printable ASCII characters')
  }
  return key
}

/** Adds the headers of the dialect, and the one that names the activated extensions. */
export function withDialectHeaders(
  headers: Readonly<Record<string, string>>,
  { activated }: Call,
  { extensionsHeader, headers: ofDialect }: ServerDialect,
): Readonly<Record<string, string>> {
  const all = ofDialect ? { ...headers, ...ofDialect } : headers
  if (!activated || activated.size === 0) return all
  return { ...all, [extensionsHeader]: [...activated].join(', ') }
}

export interface ErrorContext extends Pick<WireOptions, 'onError' | 'onRejected'> {
  readonly incoming: Pick<Incoming, 'header' | 'signal'>
  /** The operation of the call, if it was recognized. */
  readonly operation?: string | undefined
}

/** The error as the caller may see it. Failures of the store are reported, and unexpected errors, which become `internal`. */
export function toCallerError(error: unknown, context: ErrorContext): A2AError {
  const { incoming, onError, onRejected, operation } = context
  if (error instanceof StoreUnavailable) onError(error, incoming)
  else if (error instanceof A2AError) onRejected?.(error, incoming, operation)
  if (error instanceof A2AError) return error
  // Once the caller has gone, most errors say only that, and are not worth reporting.
  if (!incoming.signal.aborted) onError(error, incoming)
  if (error instanceof BodyConsumed) return new A2AError('internal', consumedText, { cause: error })
  return new A2AError('internal', 'Internal error', { cause: error })
}

const consumedText =
  'The application around this agent has consumed the body of the request. Its log says what its operator can do.'

/** The error for calls that an overloaded server rejects before it does any of their work. */
export function overloaded(cause?: unknown): A2AError {
  const text = 'This server has too much to do just now: try again in a moment.'
  return new A2AError('unavailable', text, { cause, retryAfter: retryAfterOverload, metadata: { reason: 'overload' } })
}

/** The error for calls that name a tenant which is not served here, or none where every agent has one. */
export function unknownTenant(tenant: string | undefined): A2AError {
  const isMissing = tenant === undefined
  return invalidParams('tenant', isMissing ? 'expected the tenant that the card names' : 'there is no such tenant')
}

/** HTTP headers that belong to an error, beside its status. */
export function errorHeaders({ retryAfter, challenge }: A2AError): Readonly<Record<string, string>> {
  return defined({
    'retry-after': retryAfter === undefined ? undefined : `${Math.ceil(retryAfter)}`,
    'www-authenticate': challenge,
  })
}

function decodeRequest<O extends Operation>({ dialect, operation, params, call }: WireRequest<O>): RequestOf<O> {
  const request = dialect.decodeRequest[operation](params)
  if (request.tenant !== undefined) call.requireTenant(request.tenant)
  if (dialect.namesExtensionsInMessages && 'message' in request && request.message.extensions) {
    call.declareExtensions(request.message.extensions)
  }
  // Later events about the task, and its webhooks, are encoded in the same dialect.
  const named = 'message' in request || 'url' in request ? { ...request, dialect: dialect.name } : request
  if (!('message' in named) || dialect.numbersChanges || !keepsLastChunk(named.message)) return named
  return { ...named, quirks: { ...named.quirks, repeatsClosed: true } }
}

/** The form in which the caller reads questions and answers, by its dialect, its extensions and its software. */
function formFor(dialect: ServerDialect, { extensions, userAgent, activated }: WireCall): ReaderForm | undefined {
  const { hasInputRequests: hasOwnForm, repeatsAnswers, numbersChanges } = dialect
  const form = readerFormOf({ hasOwnForm, repeatsAnswers, numbersChanges, extensions, userAgent })
  if (form && !form.hasPlainQuestions) activated?.add(clientTools)
  return form
}

function queryParameter({ query }: Pick<Incoming, 'query'>, name: string): string | undefined {
  return query === '' ? undefined : (new URLSearchParams(query).get(name) ?? undefined)
}

function readGeneration(field: string, text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw invalidParams(field, 'expected the number of an event, an integer from 0 on')
  return Number(text)
}

/** URIs of the extensions that the caller knows. Before 1.0 the header had another name. */
function readExtensions(incoming: Incoming): readonly string[] | undefined {
  const header = incoming.header('a2a-extensions')
  const legacyHeader = incoming.header('x-a2a-extensions')
  if (header === undefined && legacyHeader === undefined) return undefined
  const uris = `${header ?? ''},${legacyHeader ?? ''}`.split(',').map((uri) => uri.trim())
  return [...new Set(uris)].filter((uri) => uri !== '')
}

async function readJsonBody(incoming: Incoming, limits: BodyLimits, isOptional: boolean): Promise<unknown> {
  requireUncompressed(incoming)
  const contentType = incoming.header('content-type')
  const mayBeMissing = isOptional && contentType === undefined
  if (!mayBeMissing && !isJson(contentType)) throw notJson()
  let bytes: Uint8Array
  try {
    bytes = await incoming.bytes(limits.bodyLimit)
  } catch (error) {
    throw bodyError(error, limits)
  }
  if (isOptional && bytes.length === 0) return undefined
  if (mayBeMissing) throw notJson()
  return parseBody(bytes, limits)
}

/** The `reason` of errors about the HTTP body itself, as opposed to the parts of a message. */
export const wrongBodyReason = 'wrong-body'

/** A small compressed body could expand to a very large one, and A2A requests are small without compression. */
function requireUncompressed({ header }: Incoming): void {
  const coding = header('content-encoding')
  if (coding === undefined || coding.toLowerCase() === 'identity') return
  throw wrongBody('The body must not be compressed: send it without Content-Encoding.')
}

function notJson(): A2AError {
  return wrongBody('The body must be JSON, with Content-Type: application/json.')
}

function wrongBody(text: string): A2AError {
  return new A2AError('content-type-not-supported', text, { reason: wrongBodyReason })
}

function bodyError(error: unknown, { bodyLimit }: BodyLimits): unknown {
  if (error instanceof Overloaded) return overloaded(error)
  if (error instanceof JsonError) return parseError(error)
  if (!(error instanceof BodyTooLarge)) return error
  return new A2AError('payload-too-large', `The body is longer than ${bodyLimit} bytes.`, { cause: error })
}

function parseBody(bytes: Uint8Array, { jsonDepth }: BodyLimits): unknown {
  try {
    const body = parseJsonBody(bytes, { depth: jsonDepth })
    return body instanceof Promise ? body.catch(throwParseError) : body
  } catch (error) {
    throwParseError(error)
  }
}

function throwParseError(error: unknown): never {
  if (!(error instanceof JsonError)) throw error
  throw parseError(error)
}

function parseError(error: JsonError): A2AError {
  return new A2AError('parse-error', `${error.message}.`, { cause: error })
}

/** Engines limit the length of a text: V8 to half a gigabyte. */
function stringify(json: Json): string {
  try {
    return JSON.stringify(json)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new A2AError(
      'payload-too-large',
      'The answer is too long for one JSON text: subscribe to the task, which sends it piece by piece, or request less history and fewer tasks.',
      { cause: error },
    )
  }
}
