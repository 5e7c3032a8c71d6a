import { base64Encode } from '@bufbuild/protobuf/wire'
import { defined, type Json } from '../../base/json.ts'
import { type Incoming, reserveResponse } from '../../http/exchange.ts'
import { A2AError } from '../../protocol/errors.ts'
import { toCallerError } from '../server/call.ts'
import { reserveAnswer } from '../server/large-answers.ts'
import type { WireOptions } from '../server/options.ts'
import { decodeMessage, encodeMessage } from './codec.ts'
import { acceptedEncodings, encodeFrame, readMessage, readMessages, requireEncoding } from './frames.ts'
import { messageNamed } from './proto-registry.ts'
import type { GrpcIncoming, GrpcOutgoing, Metadata, Reply, Rpc, StreamMessage } from './rpc.ts'
import { type ErrorEncoder, type RpcStatus, StatusError, statusCodes } from './status.ts'

export interface AnswerOptions {
  /** The maximum size of a message in bytes. */
  readonly messageLimit: number
  /** Receives errors that the caller must not see. */
  readonly onError: WireOptions['onError']
  readonly onRejected?: WireOptions['onRejected']
  /** Further metadata for the response to a call, whether it succeeds or fails. */
  readonly metadataFor?: ((incoming: Incoming) => Metadata | undefined) | undefined
}

/** Answers one call. Never throws: a failure becomes a status. */
export async function answerRpc(rpc: Rpc, incoming: GrpcIncoming, options: AnswerOptions): Promise<GrpcOutgoing> {
  const deadline = startDeadline(incoming)
  const call: RunningCall = { rpc, incoming, deadline, options, headers }
  try {
    requireProtobuf(incoming.header('content-type'))
    requireEncoding(incoming.header('grpc-encoding'))
    if (rpc.type !== 'unary') return await answerStream(rpc, call)
    const result = await deadline.limit(rpc.answer(() => readRequest(call), deadline.incoming, call))
    return unaryReply(result, call)
  } catch (error) {
    deadline.release()
    return refusal(error, call)
  }
}

/** The time limit that a caller sets for its call. */
export interface Deadline {
  /** The call, with a signal that also aborts when the deadline passes. */
  readonly incoming: Incoming
  hasPassed(): boolean
  /** Settles like `work`, or rejects when the deadline passes: work may ignore its signal. */
  limit<T>(work: Promise<T>): Promise<T>
  /** Clears the timer. */
  release(): void
}

/**
 * Starts the deadline of `grpc-timeout`, which is up to eight digits and a unit. Ignores an invalid one, as gRPC servers
 * in C++ do.
 */
export function startDeadline(incoming: Incoming): Deadline {
  const milliseconds = readTimeout(incoming.header('grpc-timeout'))
  if (milliseconds === undefined) return { incoming, hasPassed: never, limit: unlimited, release: nothing }
  const caller = incoming.signal
  const controller = new AbortController()
  const { signal } = controller
  let passed = false
  const pass = (): void => {
    passed = true
    controller.abort(deadlinePassed())
  }
  const leave = (): void => controller.abort(caller.reason)
  const timer = setTimeout(pass, milliseconds)
  if (caller.aborted) leave()
  caller.addEventListener('abort', leave)
  return {
    incoming: withSignal(incoming, signal),
    hasPassed: () => passed,
    limit: (work) =>
      new Promise((resolve, reject) => {
        const abort = (): void => reject(signal.reason)
        if (signal.aborted) abort()
        signal.addEventListener('abort', abort)
        work.then(resolve, reject)
      }),
    release() {
      clearTimeout(timer)
      caller.removeEventListener('abort', leave)
    },
  }
}

/** Encodes an error as trailers: its status, and in full as a `google.rpc.Status` (A2A 1.0 §10.6). */
export function errorTrailers(error: A2AError | StatusError, encodeError: ErrorEncoder): Metadata {
  if (error instanceof StatusError) return statusTrailers(error)
  const status = encodeError(error)
  const details = encodeDetails(status)
  const { challenge } = error
  const trailers = { ...statusTrailers(status), ...defined({ 'www-authenticate': challenge }) }
  return details ? { ...trailers, 'grpc-status-details-bin': base64Encode(details, 'std_raw') } : trailers
}

const headers: Metadata = { 'content-type': 'application/grpc' }

/** Names the accepted encodings, for callers whose compression is unknown here. */
export const refusalHeaders: Metadata = { ...headers, 'grpc-accept-encoding': acceptedEncodings }

const okTrailers: Metadata = { 'grpc-status': '0' }

/** The maximum size of one message of a bidirectional stream in bytes. Only reflection has them, and they hold names. */
const bidirectionalLimit = 4 * 1024

interface RunningCall extends Reply {
  readonly rpc: Rpc
  readonly incoming: GrpcIncoming
  readonly deadline: Deadline
  readonly options: AnswerOptions
}

type RpcOf<T extends Rpc['type']> = Extract<Rpc, { readonly type: T }>

/** Rejects subtypes that name another encoding of the messages, such as JSON. */
function requireProtobuf(contentType = ''): void {
  if (contentType === 'application/grpc') return
  if (/^application\/grpc(?:\+proto)?\s*(?:;|$)/i.test(contentType)) return
  throw new StatusError('UNIMPLEMENTED', 'The messages must be protobuf, with Content-Type: application/grpc+proto.')
}

function unaryReply(result: Json, call: RunningCall): GrpcOutgoing {
  const { rpc, deadline } = call
  requireTime(deadline)
  deadline.release()
  const message = encodeFrame(rpc.method.output, result)
  if (call.target) reserveAnswer({ bytes: message.length }, call.target)
  return { headers: headersOf(call), message, trailers: okTrailers }
}

/** Headers wait for the first message, so that a failure before it needs no messages and no trailers of its own. */
async function answerStream(rpc: RpcOf<'stream' | 'bidirectional'>, call: RunningCall): Promise<GrpcOutgoing> {
  const { incoming } = call.deadline
  const messages =
    rpc.type === 'stream'
      ? rpc.answer(() => readRequest(call), incoming, call)
      : rpc.answer(readRequests(call), incoming)
  const rest = encodeFrames(messages, call)
  const { done, value } = await rest.next()
  return done ? { headers, trailers: value } : { headers: headersOf(call), first: value, rest }
}

/** Throws a failure before the first message, and returns a later one as trailers. */
async function* encodeFrames(
  messages: AsyncIterable<StreamMessage>,
  call: RunningCall,
): AsyncGenerator<Uint8Array, Metadata> {
  const { rpc, deadline } = call
  let begun = false
  try {
    for await (const message of messages) {
      const frame = encodeFrame(rpc.method.output, message.json, message)
      const release = call.target && reserveAnswer({ bytes: frame.length }, call.target)
      yield frame
      // The next message is pulled when the reader has taken this one.
      release?.()
      begun = true
    }
    requireTime(deadline)
    return okTrailers
  } catch (error) {
    if (!begun) throw error
    return refusal(error, call).trailers
  } finally {
    deadline.release()
  }
}

async function readRequest({ rpc, incoming, options }: RunningCall): Promise<unknown> {
  return decodeMessage(rpc.method.input, await readMessage(incoming, options.messageLimit))
}

async function* readRequests({ rpc, incoming }: RunningCall): AsyncGenerator<unknown> {
  for await (const message of readMessages(incoming, bidirectionalLimit)) yield decodeMessage(rpc.method.input, message)
}

function headersOf({ headers, deadline, options: { metadataFor } }: RunningCall, base = headers): Metadata {
  const metadata = metadataFor?.(deadline.incoming)
  return metadata ? { ...base, ...metadata } : base
}

function refusal(error: unknown, call: RunningCall) {
  const { rpc, incoming, options, deadline } = call
  const cause = deadline.hasPassed() ? deadlinePassed() : error
  const shown =
    cause instanceof StatusError
      ? cause
      : toCallerError(cause, { ...options, incoming, operation: rpc.method.localName })
  return { headers: headersOf(call, refusalHeaders), trailers: errorTrailers(shown, rpc.encodeError) }
}

/** Work that stops because of its signal may return normally. */
function requireTime(deadline: Deadline): void {
  if (deadline.hasPassed()) throw deadlinePassed()
}

function deadlinePassed(): A2AError {
  return new A2AError('timeout', 'The deadline of the call has passed.')
}

const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** Node fires timers beyond this many milliseconds at once. */
const maxTimeout = 2 ** 31 - 1

/** In milliseconds. */
function readTimeout(timeout: string | undefined): number | undefined {
  if (timeout === undefined) return undefined
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? []
  const length = units[unit]
  return length === undefined ? undefined : Math.min(Number(digits) * length, maxTimeout)
}

// Created once: most calls have no deadline.
const never = (): boolean => false

const unlimited = <T>(work: Promise<T>): Promise<T> => work

const nothing = (): void => {}

function withSignal(incoming: Incoming, signal: AbortSignal): Incoming {
  const { method, path, query, base, secure } = incoming
  const header: Incoming['header'] = (name) => incoming.header(name)
  const bytes: Incoming['bytes'] = (limit) => incoming.bytes(limit)
  const certificate = () => incoming.certificate()
  const address = () => incoming.address?.()
  const reserve: Incoming['reserve'] = (response, caller) => reserveResponse(incoming, response, caller)
  return { method, path, query, base, secure, header, bytes, signal, certificate, address, reserve }
}

const Status = messageNamed('google.rpc.Status')

/**
 * Java clients read at most 8 KiB of metadata. 400 characters become up to 3,600 when percent-encoded, and 2,900 bytes
 * become 3,900 in base64.
 */
const maxMessageLength = 400

const maxDetailsBytes = 2_900

function statusTrailers({ status, message }: RpcStatus | StatusError): Metadata {
  return { 'grpc-status': `${statusCodes[status]}`, 'grpc-message': percentEncode(shorten(message)) }
}

/** HTTP/2 headers carry printable ASCII; every other character becomes its UTF-8 bytes. */
function percentEncode(text: string): string {
  return text.replace(/[^ -$&-~]+/g, encodeURIComponent)
}

function shorten(message: string): string {
  return message.slice(0, maxMessageLength).toWellFormed()
}

/** The first detail names the error. Later ones are left out if they do not fit. */
function encodeDetails({ status, message, details = [] }: RpcStatus): Uint8Array | undefined {
  for (let fitting = details; fitting.length > 0; fitting = fitting.slice(0, -1)) {
    const bytes = encodeMessage(Status, { code: statusCodes[status], message: shorten(message), details: fitting })
    if (bytes.length <= maxDetailsBytes) return bytes
  }
  return undefined
}
