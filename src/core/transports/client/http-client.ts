import { unlessAborted, withDeadline } from '../../base/abort.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { defined, type JsonObject } from '../../base/json.ts'
import type { Binding, ClientDialect } from '../../dialects/dialect.ts'
import type { Fetch } from '../../http/fetch.ts'
import { StreamSilent } from '../../http/sse-reader.ts'
import { A2AError, withContext } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { createService } from '../../protocol/intercept.ts'
import type {
  Call,
  Operation,
  RequestOf,
  ResultOf,
  Service,
  StreamOperation,
  UnaryOperation,
} from '../../protocol/service.ts'
import { withGeneration } from '../event-numbers.ts'
import { networkError, notInDialect, withSoftware } from './failures.ts'
import { type ResponseContent, readResponse, readStreamResponse } from './read-response.ts'

export interface AnswerLimits {
  /** Maximum bytes of a response. Defaults to 64 MiB. */
  readonly answerLimit?: number
  /** Maximum characters of one stream event. Defaults to 10 Mi. */
  readonly eventLimit?: number
  /** Maximum nesting of lists and objects. Defaults to 64. */
  readonly jsonDepth?: number
  /** Milliseconds without a byte after which a stream counts as broken. Defaults to 45 seconds. */
  readonly idle?: number
  /**
   * Milliseconds in which the stream that a message opens must begin: agents may think long before the first event.
   * Defaults to 5 minutes.
   */
  readonly openWithin?: number
  /** Replaces the system clock in tests. */
  readonly clock?: Clock
}

export function answerLimitsOf(limits: AnswerLimits) {
  const { answerLimit = 64 * 2 ** 20, eventLimit = 10 * 2 ** 20, jsonDepth = 64 } = limits
  const { idle = 45_000, openWithin = 300_000, clock = systemClock } = limits
  return { answerLimit, eventLimit, jsonDepth, idle, openWithin, clock }
}

export interface WireClientOptions extends AnswerLimits {
  /** The URL of the endpoint, as the card names it. */
  readonly url: string
  readonly dialect: ClientDialect
  readonly fetch: Fetch
  /** Named in every request, if the card names it (A2A 1.0 §5.8). */
  readonly tenant?: string
  /** URIs of the extensions to activate. */
  readonly extensions?: readonly string[]
  /** Called with the dialect in the variant that the server reads, when the client has learned more about it. */
  readonly onVariant?: (dialect: ClientDialect) => void
  /** Returns the part of an extended card that its signatures cover; throws if the card fails verification. */
  readonly verifyExtendedCard?: (card: unknown) => Promise<unknown>
}

export interface HttpRequest {
  readonly url: string
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly body?: JsonObject
  readonly contentType: string
  /** The next candidate has the same meaning in another form; agents that take only that reject this one as invalid. */
  readonly hasOtherForm?: boolean
  /** Called when the request is answered, so that later calls use the same path and method. */
  readonly confirm?: () => void
}

/** The part of a client that is specific to JSON-RPC or REST. */
export interface HttpBinding {
  readonly name: Binding
  /** Whether the dialect has the operation in this binding. */
  supports(operation: Operation): boolean
  /** The requests that may carry the operation, the likeliest first. The next one is tried after a wrong path. */
  createRequests(operation: Operation, wire: JsonObject): readonly HttpRequest[]
  /** Returns the result in the response to a request; throws if the response is an error. */
  readResult(content: ResponseContent, operation: Operation, request: HttpRequest): unknown
  /** Returns the event in the data of a server-sent event; throws if the data is an error. */
  readEvent(data: unknown, isError: boolean, request: HttpRequest): unknown
}

/** A service over HTTP. Every failure is an `A2AError` that names the dialect, the binding and the URL. */
export function createHttpClient(options: WireClientOptions, binding: HttpBinding): Service {
  const { url, tenant } = options
  const limits = answerLimitsOf(options)
  const variant = createServerVariant(options)

  function toError(thrown: unknown, signal: AbortSignal, requestUrl = url): A2AError {
    const error = networkError(thrown, requestUrl, signal)
    return withContext(error, { dialect: options.dialect.name, binding: binding.name, url: error.url ?? url })
  }

  function readAnswer(response: Response, content: ResponseContent, operation: Operation, sent: HttpRequest): unknown {
    try {
      return binding.readResult(content, operation, sent)
    } catch (error) {
      throw withSoftware(error, response.headers)
    }
  }

  /** Tries the candidates for a request until one reaches the agent. */
  async function exchange<T>(
    operation: Operation,
    request: object,
    { signal }: Call,
    attempt: (candidate: HttpRequest) => Promise<T>,
  ): Promise<T> {
    const { version, encodeRequest } = variant.dialect()
    if (!binding.supports(operation)) throw toError(notInDialect(operation, version, binding.name), signal)
    const encode = encodeRequest[operation] as (request: object) => JsonObject
    const wire = encode(tenant === undefined ? request : { tenant, ...request })
    let firstError: A2AError | undefined
    for (const candidate of binding.createRequests(operation, wire)) {
      try {
        const result = await attempt(candidate)
        candidate.confirm?.()
        return result
      } catch (thrown) {
        const error = toError(thrown, signal, candidate.url)
        firstError ??= error
        const isFormRejected = candidate.hasOtherForm && error.code === 'invalid-params'
        if (error.reason !== 'wrong-path' && !isFormRejected) throw error
      }
    }
    throw firstError
  }

  async function unary<O extends UnaryOperation>(
    operation: O,
    request: RequestOf<O>,
    call: Call,
  ): Promise<ResultOf<O>> {
    const headers = { accept: 'application/json, application/a2a+json' }
    const { result, dialect, answerHeaders } = await exchange(operation, request, call, async (candidate) => {
      const response = await sendRequest(options, candidate, call, headers)
      const reading = readResponse(response, { ...limits, url: candidate.url })
      const wire = readAnswer(response, await unlessAborted(reading, call.signal), operation, candidate)
      return { result: wire, dialect: variant.learn(response.headers, wire), answerHeaders: response.headers }
    })
    try {
      return dialect.decodeResult[operation](await verifiedResult(operation, result, options), request)
    } catch (error) {
      throw toError(withSoftware(error, answerHeaders), call.signal)
    }
  }

  async function* stream<O extends StreamOperation>(
    operation: O,
    request: RequestOf<O>,
    caller: Call,
  ): AsyncGenerator<StreamEvent> {
    const { after } = request
    const headers = defined({
      accept: 'text/event-stream',
      'last-event-id': after === undefined ? undefined : `${after}`,
    })
    const openWithin = operation === 'streamMessage' ? limits.openWithin : limits.idle
    const deadline = withDeadline(caller.signal, openWithin, () => new StreamSilent(openWithin), limits.clock)
    const { signal } = deadline
    const call = { ...caller, signal }
    try {
      const { events, result, sent, answerHeaders } = await exchange(operation, request, call, async (candidate) => {
        const response = await sendRequest(options, candidate, call, headers)
        const reading = readStreamResponse(response, { ...limits, url: candidate.url, signal })
        const { events, content } = await unlessAborted(reading, signal)
        const result = content && readAnswer(response, content, operation, candidate)
        return { events, result, sent: candidate, answerHeaders: response.headers }
      })
      const decode = (wire: unknown): StreamEvent => {
        try {
          return variant.learn(answerHeaders, wire).decodeEvent(wire, request)
        } catch (error) {
          throw withSoftware(error, answerHeaders)
        }
      }
      if (!events) return yield decode(result)
      // A subscription may wait long for its first event, but a message must be accepted, whatever keeps the stream alive.
      if (operation !== 'streamMessage') deadline.extend()
      for await (const { id, follows, data, isError } of events) {
        deadline.extend()
        const event = decode(binding.readEvent(data, isError, sent))
        yield withGeneration(event, id, follows)
        if (event.isLast) return
      }
    } catch (error) {
      // A caller that aborts just ends the stream, unless it aborts with an error of its own.
      if (caller.signal.aborted && !(caller.signal.reason instanceof A2AError)) return
      throw toError(error, signal)
    } finally {
      deadline.release()
    }
  }

  return createService({ unary, stream })
}

async function sendRequest(
  options: WireClientOptions,
  { url, method, body, contentType }: HttpRequest,
  call: Call,
  headers: Readonly<Record<string, string>>,
): Promise<Response> {
  const { signal } = call
  const allHeaders = {
    ...serviceParametersOf(options, call),
    ...headers,
    ...defined({ 'content-type': body && contentType }),
  }
  const init = defined({ method, headers: allHeaders, signal, body: body && JSON.stringify(body) })
  return await unlessAborted(options.fetch(url, init), signal)
}

/** The variant of the dialect that the server reads and writes, as far as its answers have shown it. */
export interface ServerVariant {
  readonly dialect: () => ClientDialect
  /** Returns the dialect of an answer, and uses it from then on. */
  readonly learn: (headers: Headers, wire: unknown) => ClientDialect
}

export function createServerVariant({ dialect, onVariant }: WireClientOptions): ServerVariant {
  let current = dialect
  return {
    dialect: () => current,
    learn(headers, wire) {
      const { servers } = current
      const next = servers ? servers.forServer({ headers, wire }) : current
      if (next !== current) onVariant?.(next)
      current = next
      return current
    },
  }
}

/** The result again; an extended card only as far as it is verified. */
export async function verifiedResult(
  operation: Operation,
  result: unknown,
  { verifyExtendedCard }: WireClientOptions,
): Promise<unknown> {
  return verifyExtendedCard && operation === 'getExtendedCard' ? await verifyExtendedCard(result) : result
}

/** The service parameters of a call, for headers or gRPC metadata (A2A 1.0 §3.2.6). */
export function serviceParametersOf(
  { dialect, extensions = [] }: WireClientOptions,
  { idempotencyKey, headers, extensions: ofCall = [] }: Pick<Call, 'idempotencyKey' | 'headers' | 'extensions'>,
): Readonly<Record<string, string>> {
  const uris = [...new Set([...extensions, ...ofCall])].join(', ')
  return {
    ...headers,
    'a2a-version': dialect.version,
    ...defined({
      // 1.0 dropped the prefix of the header; a server reads the one it knows.
      'a2a-extensions': uris === '' ? undefined : uris,
      'x-a2a-extensions': uris === '' ? undefined : uris,
      'idempotency-key': idempotencyKey,
    }),
  }
}
