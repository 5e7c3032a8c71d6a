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
import { answerLimitsOf, serviceParametersOf, verifiedResult, type WireClientOptions } from '../client/options.ts'
import { readResponse } from '../client/read-response.ts'
import { withGeneration } from '../event-numbers.ts'
import { decodeMessage, decodeNumbered, type Numbers } from './codec.ts'
import { acceptedEncodings, encodeFrame, readMessages } from './frames.ts'
import { messageNamed, methodNamed, pathOf, serviceNamed } from './proto-registry.ts'
import { a2aServices } from './services.ts'
import { StatusError, type StatusName, statusCodes } from './status.ts'

/** As servers in several languages say that they have no such service or method. */
const nobodyThere = /does not implement the method|unknown (service|method)|method not found|^there is no \//i

const tooLong = /(larger|longer) than/i

const Status = messageNamed('google.rpc.Status')

/** `Service` over gRPC. The `fetch` that it is given speaks HTTP/2 and gives trailers. */
export function createGrpcClient(options: WireClientOptions): Service {
  const { dialect, fetch, tenant } = options
  const { origin } = new URL(options.url)
  const described = a2aServices.find((each) => each.dialect === dialect.name)
  if (!described) throw new TypeError(`A2A ${dialect.version} has no gRPC binding`)
  const service = serviceNamed(described.name)
  const { answerLimit, eventLimit, jsonDepth, openWithin, idle, clock } = answerLimitsOf(options)

  function methodOf(operation: Operation) {
    const name = dialect.methods[operation]
    if (name !== undefined) return methodNamed(service, name)
    throw notInDialect(operation, dialect.version, 'gRPC')
  }

  /** The messages of the answer; the call is given up when nobody reads them any more. */
  async function* exchange(operation: Operation, request: object, call: Call, more: Metadata = {}) {
    const method = methodOf(operation)
    const url = `${origin}${pathOf(method)}`
    const encode = dialect.encodeRequest[operation] as (request: object) => JsonObject
    const body = encodeFrame(method.input, encode(tenant === undefined ? request : { tenant, ...request }) as Json)
    const headers = { ...fixed, ...serviceParametersOf(options, call), ...timeoutOf(call, clock), ...more }
    const { signal } = call
    const init = { method: 'POST', headers, body: body as Uint8Array<ArrayBuffer>, signal }
    const response = await unlessAborted(fetch(url, init), signal)
    const messageLimit = isStream(operation) ? eventLimit : answerLimit
    yield* readReply(response, { dialect, url, type: method.output, answerLimit, messageLimit, jsonDepth })
  }

  /** Whatever goes wrong is an `A2AError` that knows with whom. */
  const known = (error: unknown, signal: AbortSignal): A2AError => {
    const failure = isRefused(error) ? turnedAway(error, options.url) : networkError(error, options.url, signal)
    return withContext(failure, { dialect: dialect.name, binding: 'GRPC', url: failure.url ?? options.url })
  }

  async function* follow<O extends StreamOperation>(
    operation: O,
    request: RequestOf<O>,
    caller: Call,
  ): AsyncGenerator<StreamEvent> {
    const { after } = request
    const within = operation === 'streamMessage' ? openWithin : idle
    const deadline = withDeadline(caller.signal, within, () => new StreamSilent(within), clock)
    const { signal } = deadline
    const more: Metadata = after === undefined ? {} : { 'last-event-id': `${after}` }
    try {
      for await (const { json, number, follows } of exchange(operation, request, { ...caller, signal }, more)) {
        // From here on it is the connection that is watched: a stream may have nothing to say for long.
        deadline.extend()
        const event = dialect.decodeEvent(json, request)
        yield withGeneration(event, textOf(number), textOf(follows))
        if (event.isLast) return
      }
    } catch (error) {
      // Who has gone hears no more; who is sent away hears why.
      if (caller.signal.aborted && !(caller.signal.reason instanceof A2AError)) return
      throw known(error, signal)
    } finally {
      deadline.release()
    }
  }

  return createService({
    stream: follow,
    async unary<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>> {
      try {
        const result = await onlyOne(exchange(operation, request, call))
        const wire = await verifiedResult(operation, result, options)
        return dialect.decodeResult[operation](wire, request)
      } catch (error) {
        throw known(error, call.signal)
      }
    },
  })
}

/**
 * What clients of gRPC dial need not be a URL: mostly it is a host and its port. Whether TLS is spoken there is told by
 * the port or by how the card was got; in doubt it is.
 */
export function dialledUrl(address: string, cardUrl: string | undefined): string {
  if (/^https?:\/\//i.test(address)) return address
  if (/^grpcs?:\/\//i.test(address)) return address.replace(/^grpc/i, 'http')
  const bare = address.replace(/^(dns|ipv4|ipv6):\/*/i, '')
  const isPlain = cardUrl === undefined ? isThisMachine(bare) : cardUrl.startsWith('http:')
  return `${isPlain && !bare.endsWith(':443') ? 'http' : 'https'}://${bare}`
}

export interface ReplyOptions extends Pick<WireClientOptions, 'dialect'> {
  readonly url: string
  readonly type: DescMessage
  readonly answerLimit: number
  /** Bytes of one message. */
  readonly messageLimit: number
  readonly jsonDepth: number
}

/** A message of an answer, as ProtoJSON. */
export interface ReplyMessage extends Numbers {
  readonly json: unknown
}

type Metadata = Readonly<Record<string, string>>

const fixed: Metadata = {
  'content-type': 'application/grpc+proto',
  'grpc-accept-encoding': acceptedEncodings,
  te: 'trailers',
}

/** The agent need not go on for longer than its caller waits. At most eight digits. */
function timeoutOf({ deadline }: Call, clock: Clock): Metadata {
  if (deadline === undefined) return {}
  const left = Math.max(1, Math.ceil(deadline - clock.now()))
  return { 'grpc-timeout': left < 1e8 ? `${left}m` : `${Math.ceil(left / 1000)}S` }
}

/** The messages of an answer as they come. It throws what the end of the answer tells, if that is an error. */
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
  // Where there is no message, all of the answer is one block of headers.
  const end = response.headers.has('grpc-status') ? response.headers : await trailersOf(response)
  if (!end.has('grpc-status')) throw cutOff(url)
  const failure = await toldStatus(end, dialect)
  if (failure) throw failure
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

/** An answer that is whole ends with a status. */
function cutOff(url: string): A2AError {
  return new A2AError('unavailable', `The answer of ${url} broke off.`, { url, reason: 'connection-lost' })
}

function broken(error: StatusError, url: string): A2AError {
  const problem = `The answer of ${url} cannot be read: ${error.message}`
  return new A2AError('invalid-agent-response', problem, { cause: error, url, reason: 'broken-event' })
}

/** The error that the end of a call tells; undefined if all is well. */
async function toldStatus(end: Headers, dialect: ClientDialect): Promise<A2AError | undefined> {
  const code = Number(end.get('grpc-status'))
  if (code === statusCodes.OK) return undefined
  const message = percentDecode(end.get('grpc-message') ?? '')
  const status = names.get(code) ?? 'UNKNOWN'
  const details = detailsIn(end.get('grpc-status-details-bin'))
  const { decodeHttpError } = errorDecoderOf(dialect)
  const told = decodeHttpError({ status: 500, body: { error: { status, message, details } } })
  if (readDetails(details).reason !== undefined) return told
  return withoutDetails(told, status, message)
}

/** The message of a status is UTF-8, of which only printable ASCII stands for itself. */
function percentDecode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const names: ReadonlyMap<number, StatusName> = new Map(
  Object.entries(statusCodes).map(([name, code]) => [code, name as StatusName]),
)

/** What cannot be read is left out: the status and its message still say something. */
function detailsIn(encoded: string | null): readonly JsonObject[] {
  if (encoded === null) return []
  try {
    const { details } = decodeMessage(Status, base64Decode(encoded)) as { readonly details?: readonly JsonObject[] }
    return details ?? []
  } catch {
    return []
  }
}

/** Many servers tell no more than a status, which stands for several errors. */
function withoutDetails(told: A2AError, status: StatusName, message: string): A2AError {
  const { cause, violations, metadata, retryAfter } = told
  const known = (code: A2AError['code'], reason?: string) =>
    withContext(new A2AError(code, message || told.message, { cause, violations, metadata, retryAfter }), { reason })
  if (status === 'UNIMPLEMENTED' && nobodyThere.test(message)) return known('method-not-found', 'wrong-path')
  if (status === 'RESOURCE_EXHAUSTED' && tooLong.test(message)) return known('payload-too-large')
  if (status === 'CANCELLED') return known('unavailable', 'connection-lost')
  const meant = codeOfMessage(message)
  return meant === undefined ? told : known(meant)
}

/** RFC 9113 §8.7: such a call was not begun, and may be made again. */
function isRefused(error: unknown): error is Error {
  return (
    error instanceof Error &&
    /NGHTTP2_REFUSED_STREAM|ERR_HTTP2_GOAWAY_SESSION/.test(`${error.message} ${codeOf(error)}`)
  )
}

function codeOf(error: Error): unknown {
  return (error as { readonly code?: unknown }).code
}

function turnedAway(cause: Error, url: string): A2AError {
  return new A2AError('unavailable', `${url} takes no more calls at the moment.`, { cause, url, retryAfter: 0 })
}

function textOf(number: number | undefined): string | undefined {
  return number === undefined ? undefined : `${number}`
}

async function onlyOne(messages: AsyncGenerator<ReplyMessage>): Promise<unknown> {
  let only: ReplyMessage | undefined
  for await (const message of messages) {
    if (only) throw new A2AError('invalid-agent-response', 'There were two answers to one call.', { reason: 'not-a2a' })
    only = message
  }
  if (only) return only.json
  throw new A2AError('invalid-agent-response', 'The call ended well, but without an answer.', { reason: 'not-a2a' })
}

function isThisMachine(address: string): boolean {
  return /^(localhost|127\.[\d.]+|\[::1\])(:|$)/i.test(address)
}
