import type { DescMessage } from '@bufbuild/protobuf'
import { base64Decode } from '@bufbuild/protobuf/wire'
import { unlessAborted, withDeadline } from '../../base/abort.ts'
import type { Clock } from '../../base/clock.ts'
import type { Json, JsonObject } from '../../base/json.ts'
import type { ClientDialect } from '../../dialects/dialect.ts'
import { readDetails } from '../../dialects/errors.ts'
import { trailersOf } from '../../http/fetch.ts'
import { StreamSilent } from '../../http/sse-reader.ts'
import { A2AError, withContext } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { createService, isStream } from '../../protocol/intercept.ts'
import type {
  Call,
  Operation,
  RequestOf,
  ResultOf,
  Service,
  StreamOperation,
  UnaryOperation,
} from '../../protocol/service.ts'
import { codeOfMessage, errorDecoderOf, networkError, notA2AError, notInDialect } from '../client/failures.ts'
import {
  answerLimitsOf,
  createServerVariant,
  serviceParametersOf,
  verifiedResult,
  type WireClientOptions,
} from '../client/http-client.ts'
import { readResponse } from '../client/read-response.ts'
import { withGeneration } from '../event-numbers.ts'
import { decodeMessage, decodeNumbered, type EventNumbers } from './codec.ts'
import { acceptedEncodings, encodeFrame, readMessages } from './frames.ts'
import { messageNamed, methodNamed, pathOf, serviceNamed } from './proto-registry.ts'
import { StatusError, type StatusName, statusCodes } from './status.ts'

/** `Service` over gRPC. Its `fetch` must speak HTTP/2 and return trailers. */
export function createGrpcClient(options: WireClientOptions): Service {
  const { dialect, fetch, tenant } = options
  const variant = createServerVariant(options)
  const { origin } = new URL(options.url)
  if (!dialect.grpc) throw new TypeError(`A2A ${dialect.version} has no gRPC binding`)
  const service = serviceNamed(dialect.grpc.service)
  const { answerLimit, eventLimit, jsonDepth, openWithin, idle, clock } = answerLimitsOf(options)

  function methodOf(operation: Operation) {
    const name = dialect.methods[operation]
    if (name !== undefined) return methodNamed(service, name)
    throw notInDialect(operation, dialect.version, 'gRPC')
  }

  /** Yields the messages of the response. Cancels the call when the reader stops. */
  async function* exchange(operation: Operation, request: object, call: Call, metadata: Metadata = {}) {
    const method = methodOf(operation)
    const url = `${origin}${pathOf(method)}`
    const encode = variant.dialect().encodeRequest[operation] as (request: object) => JsonObject
    const body = encodeFrame(method.input, encode(tenant === undefined ? request : { tenant, ...request }) as Json)
    const headers = { ...fixedHeaders, ...serviceParametersOf(options, call), ...timeoutOf(call, clock), ...metadata }
    const { signal } = call
    const init = { method: 'POST', headers, body: body as Uint8Array<ArrayBuffer>, signal }
    const response = await unlessAborted(fetch(url, init), signal)
    const messageLimit = isStream(operation) ? eventLimit : answerLimit
    const replyOptions = { dialect, url, type: method.output, answerLimit, messageLimit, jsonDepth }
    for await (const message of readReply(response, replyOptions)) {
      yield { ...message, dialect: variant.learn(response.headers, message.json) }
    }
  }

  /** Every failure becomes an `A2AError` that names the endpoint. */
  const errorOf = (error: unknown, signal: AbortSignal): A2AError => {
    const failure = isRefused(error) ? refusedStream(error, options.url) : networkError(error, options.url, signal)
    return withContext(failure, { dialect: dialect.name, binding: 'GRPC', url: failure.url ?? options.url })
  }

  async function* stream<O extends StreamOperation>(
    operation: O,
    request: RequestOf<O>,
    caller: Call,
  ): AsyncGenerator<StreamEvent> {
    const { after } = request
    const within = operation === 'streamMessage' ? openWithin : idle
    const deadline = withDeadline(caller.signal, within, () => new StreamSilent(within), clock)
    const { signal } = deadline
    const metadata: Metadata = after === undefined ? {} : { 'last-event-id': `${after}` }
    try {
      const messages = exchange(operation, request, { ...caller, signal }, metadata)
      for await (const { json, number, follows, dialect } of messages) {
        // From now on only the connection is checked: a stream may be silent for long.
        deadline.extend()
        const event = dialect.decodeEvent(json, request)
        yield withGeneration(event, textOf(number), textOf(follows))
        if (event.isLast) return
      }
    } catch (error) {
      // A reader that left gets no error, unless it was aborted with an A2AError.
      if (caller.signal.aborted && !(caller.signal.reason instanceof A2AError)) return
      throw errorOf(error, signal)
    } finally {
      deadline.release()
    }
  }

  return createService({
    stream,
    async unary<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>> {
      try {
        const { json, dialect } = await onlyMessage(exchange(operation, request, call))
        const wire = await verifiedResult(operation, json, options)
        return dialect.decodeResult[operation](wire, request)
      } catch (error) {
        throw errorOf(error, call.signal)
      }
    },
  })
}

/**
 * The URL of a gRPC address on a card, which is often only a host and a port. The scheme of the card's URL decides about
 * TLS, except on port 443; without a card, only this machine is called without TLS.
 */
export function grpcUrl(address: string, cardUrl: string | undefined): string {
  if (/^https?:\/\//i.test(address)) return address
  if (/^grpcs?:\/\//i.test(address)) return address.replace(/^grpc/i, 'http')
  const bare = address.replace(/^(dns|ipv4|ipv6):\/*/i, '')
  const isPlain = cardUrl === undefined ? isThisMachine(bare) : cardUrl.startsWith('http:')
  return `${isPlain && !bare.endsWith(':443') ? 'http' : 'https'}://${bare}`
}

type Metadata = Readonly<Record<string, string>>

const fixedHeaders: Metadata = {
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': acceptedEncodings,
  te: 'trailers',
}

/** Sends the caller's deadline, so that the agent need not work longer. `grpc-timeout` has at most eight digits. */
function timeoutOf({ deadline }: Call, clock: Clock): Metadata {
  if (deadline === undefined) return {}
  const left = Math.max(1, Math.ceil(deadline - clock.now()))
  return { 'grpc-timeout': left < 1e8 ? `${left}m` : `${Math.ceil(left / 1000)}S` }
}

interface ReplyOptions extends Pick<WireClientOptions, 'dialect'> {
  readonly url: string
  readonly type: DescMessage
  readonly answerLimit: number
  /** The maximum size of one message in bytes. */
  readonly messageLimit: number
  readonly jsonDepth: number
}

/** A message of a response as ProtoJSON. */
interface ReplyMessage extends EventNumbers {
  readonly json: unknown
}

/** Yields the messages of a response as they arrive. Throws the error in the trailers, if there is one. */
async function* readReply(response: Response, options: ReplyOptions): AsyncGenerator<ReplyMessage> {
  const { type, url, dialect, messageLimit } = options
  const contentType = response.headers.get('content-type') ?? ''
  if (!contentType.startsWith('application/grpc')) throw notA2AError(await readResponse(response, options))
  const source = {
    chunks: () => iterate(response.body),
    header: (name: string) => response.headers.get(name) ?? undefined,
  }
  try {
    for await (const bytes of readMessages(source, messageLimit)) yield decodeNumbered(type, bytes)
  } catch (error) {
    throw readingFailed(error, url)
  }
  // A response without messages is a single block of headers.
  const trailers = response.headers.has('grpc-status') ? response.headers : await trailersOf(response)
  if (!trailers.has('grpc-status')) throw cutOff(url)
  const error = await errorIn(trailers, dialect)
  if (error) throw error
}

async function* iterate(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (body) yield* body
}

function readingFailed(error: unknown, url: string): unknown {
  if (error instanceof A2AError) {
    const problem = `${url} answered with something else than it should: ${error.message}`
    return new A2AError('invalid-agent-response', problem, { cause: error, url, reason: 'not-a2a' })
  }
  if (!(error instanceof StatusError)) return error
  if (error.status === 'RESOURCE_EXHAUSTED') {
    const problem = `The answer of ${url} is not read: ${error.message}`
    return new A2AError('payload-too-large', problem, { cause: error, url, reason: 'answer-too-large' })
  }
  return error.message.includes('ends within') ? cutOff(url) : broken(error, url)
}

/** A complete response ends with a status. */
function cutOff(url: string): A2AError {
  return new A2AError('unavailable', `The answer of ${url} broke off.`, { url, reason: 'connection-lost' })
}

function broken(error: StatusError, url: string): A2AError {
  const problem = `The answer of ${url} cannot be read: ${error.message}`
  return new A2AError('invalid-agent-response', problem, { cause: error, url, reason: 'broken-event' })
}

/** Undefined if the status is OK. */
async function errorIn(trailers: Headers, dialect: ClientDialect): Promise<A2AError | undefined> {
  const code = Number(trailers.get('grpc-status'))
  if (code === statusCodes.OK) return undefined
  const message = percentDecode(trailers.get('grpc-message') ?? '')
  const status = statusNames.get(code) ?? 'UNKNOWN'
  const details = detailsIn(trailers.get('grpc-status-details-bin'))
  const { decodeHttpError } = errorDecoderOf(dialect)
  const error = decodeHttpError({ status: 500, body: { error: { status, message, details } } })
  return readDetails(details).reason === undefined ? withCodeOf(error, status, message) : error
}

/** A status message is percent-encoded UTF-8. */
function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const statusNames: ReadonlyMap<number, StatusName> = new Map(
  Object.entries(statusCodes).map(([name, code]) => [code, name as StatusName]),
)

const Status = messageNamed('google.rpc.Status')

/** Ignores unreadable details: the status and its message remain. */
function detailsIn(encoded: string | null): readonly JsonObject[] {
  if (encoded === null) return []
  try {
    const { details } = decodeMessage(Status, base64Decode(encoded)) as { readonly details?: readonly JsonObject[] }
    return details ?? []
  } catch {
    return []
  }
}

/** Phrases by which servers in several languages report an unknown service or method. */
const unknownMethod = /does not implement the method|unknown (service|method)|method not found|^there is no \//i

const tooLong = /(larger|longer) than/i

/** Many servers send only a status, which stands for several errors; the message decides which one. */
function withCodeOf(error: A2AError, status: StatusName, message: string): A2AError {
  const { cause, violations, metadata, retryAfter } = error
  const withCode = (code: A2AError['code'], reason?: string) =>
    withContext(new A2AError(code, message || error.message, { cause, violations, metadata, retryAfter }), { reason })
  if (status === 'UNIMPLEMENTED' && unknownMethod.test(message)) return withCode('method-not-found', 'wrong-path')
  if (status === 'RESOURCE_EXHAUSTED' && tooLong.test(message)) return withCode('payload-too-large')
  if (status === 'CANCELLED') return withCode('unavailable', 'connection-lost')
  const code = codeOfMessage(message)
  return code === undefined ? error : withCode(code)
}

/** RFC 9113 §8.7: the server did not process such a call, so it may be retried. */
function isRefused(error: unknown): error is Error {
  return (
    error instanceof Error &&
    /NGHTTP2_REFUSED_STREAM|ERR_HTTP2_GOAWAY_SESSION/.test(`${error.message} ${codeOf(error)}`)
  )
}

function codeOf(error: Error): unknown {
  return (error as { readonly code?: unknown }).code
}

function refusedStream(cause: Error, url: string): A2AError {
  return new A2AError('unavailable', `${url} takes no more calls at the moment.`, { cause, url, retryAfter: 0 })
}

function textOf(number: number | undefined): string | undefined {
  return number === undefined ? undefined : `${number}`
}

async function onlyMessage<T extends ReplyMessage>(messages: AsyncGenerator<T>): Promise<T> {
  let first: T | undefined
  for await (const message of messages) {
    if (first) {
      throw new A2AError('invalid-agent-response', 'There were two answers to one call.', { reason: 'not-a2a' })
    }
    first = message
  }
  if (first) return first
  throw new A2AError('invalid-agent-response', 'The call ended well, but without an answer.', { reason: 'not-a2a' })
}

function isThisMachine(address: string): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\])(:|$)/i.test(address)
}
