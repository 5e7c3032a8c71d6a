import { base64Encode } from '@bufbuild/protobuf/wire'
import type { Incoming } from '../../http/exchange.ts'
import { A2AError } from '../../protocol/errors.ts'
import { toCallerError } from '../server/call.ts'
import type { WireOptions } from '../server/options.ts'
import { decodeMessage, encodeMessage } from './codec.ts'
import { acceptedEncodings, encodeFrame, readMessage, readMessages, requireEncoding } from './frames.ts'
import { messageNamed } from './proto-registry.ts'
import type { GrpcIncoming, GrpcOutgoing, Metadata, Reply, Rpc, Told } from './rpc.ts'
import { type ErrorEncoder, type RpcStatus, StatusError, statusCodes } from './status.ts'

const units: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 }

/** Beyond it timers fire at once. */
const longest = 2 ** 31 - 1

const okTrailers: Metadata = { 'grpc-status': '0' }

/** Clients in Java read no more than 8 KiB of metadata: here 400 characters become 3,600, and 2,900 bytes 3,900. */
const maxMessage = 400

const maxDetails = 2_900

const Status = messageNamed('google.rpc.Status')

const headers: Metadata = { 'content-type': 'application/grpc' }

/** Bytes of a message in a conversation: there is only talk of names. */
const wordLimit = 4 * 1024

export interface AnswerOptions {
  /** Bytes of a message. */
  readonly messageLimit: number
  /** Gets what must not be shown to a caller. */
  readonly onError: WireOptions['onError']
  /** What more is told with the answer to a call, whether it is refused or not. */
  readonly metadataFor?: ((incoming: Incoming) => Metadata | undefined) | undefined
}

/** Answers one call. It never throws: whatever goes wrong is an answer. */
export async function answerRpc(rpc: Rpc, incoming: GrpcIncoming, options: AnswerOptions): Promise<GrpcOutgoing> {
  const deadline = startDeadline(incoming)
  const running: Running = { rpc, incoming, deadline, options, headers }
  try {
    requireProto(incoming.header('content-type'))
    requireEncoding(incoming.header('grpc-encoding'))
    return rpc.type === 'unary' ? await answerOnce(rpc, running) : await openStream(rpc, running)
  } catch (error) {
    deadline.release()
    return refusal(error, running)
  }
}

/** How long a caller waits for its answer. */
export interface Deadline {
  /** The call. Its signal also aborts when the deadline has passed. */
  readonly incoming: Incoming
  hasPassed(): boolean
  /** The work, or an error as soon as the deadline passes: work need not heed its signal. */
  limit<T>(work: Promise<T>): Promise<T>
  /** Lets go of the timer. */
  release(): void
}

/** By the `grpc-timeout` of the call: up to eight digits and a unit. Others are ignored, as servers in C++ do. */
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
        const giveUp = (): void => reject(signal.reason)
        if (signal.aborted) giveUp()
        signal.addEventListener('abort', giveUp)
        work.then(resolve, reject)
      }),
    release() {
      clearTimeout(timer)
      caller.removeEventListener('abort', leave)
    },
  }
}

/** How the end of a call tells an error: its status, and in full as a `google.rpc.Status` (A2A 1.0 §10.6). */
export function errorTrailers(error: A2AError | StatusError, encodeError: ErrorEncoder): Metadata {
  if (error instanceof StatusError) return statusTrailers(error)
  const status = encodeError(error)
  const details = encodeDetails(status)
  const { challenge } = error
  const trailers = { ...statusTrailers(status), ...(challenge !== undefined && { 'www-authenticate': challenge }) }
  return details ? { ...trailers, 'grpc-status-details-bin': base64Encode(details, 'std_raw') } : trailers
}

/** Also tells those whose compression is not known which ones are. */
export const refusalHeaders: Metadata = { ...headers, 'grpc-accept-encoding': acceptedEncodings }

/** In milliseconds. */
function readTimeout(timeout: string | undefined): number | undefined {
  if (timeout === undefined) return undefined
  const [, digits = '', unit = ''] = /^(\d{1,8})([HMSmun])$/.exec(timeout) ?? []
  const length = units[unit]
  return length === undefined ? undefined : Math.min(Number(digits) * length, longest)
}

// Made once: most calls have no deadline.
const never = (): boolean => false

const unlimited = <T>(work: Promise<T>): Promise<T> => work

const nothing = (): void => {}

function deadlinePassed(): A2AError {
  return new A2AError('timeout', 'The deadline of the call has passed.')
}

function withSignal(incoming: Incoming, signal: AbortSignal): Incoming {
  const { method, path, query, base, secure } = incoming
  const header: Incoming['header'] = (name) => incoming.header(name)
  const bytes: Incoming['bytes'] = (limit) => incoming.bytes(limit)
  const certificate = () => incoming.certificate()
  return { method, path, query, base, secure, header, bytes, signal, certificate }
}

function statusTrailers({ status, message }: RpcStatus | StatusError): Metadata {
  return { 'grpc-status': `${statusCodes[status]}`, 'grpc-message': percentEncode(short(message)) }
}

/** As HTTP/2 headers can carry it: printable ASCII, and everything else as the bytes of its UTF-8. */
function percentEncode(text: string): string {
  return text.replace(/[^ -$&-~]+/g, encodeURIComponent)
}

function short(message: string): string {
  return message.slice(0, maxMessage).toWellFormed()
}

/** The first detail says what kind of error it is; the later ones are left out if there is no room for them. */
function encodeDetails({ status, message, details = [] }: RpcStatus): Uint8Array | undefined {
  for (let told = details; told.length > 0; told = told.slice(0, -1)) {
    const bytes = encodeMessage(Status, { code: statusCodes[status], message: short(message), details: told })
    if (bytes.length <= maxDetails) return bytes
  }
  return undefined
}

interface Running extends Reply {
  readonly rpc: Rpc
  readonly incoming: GrpcIncoming
  readonly deadline: Deadline
  readonly options: AnswerOptions
}

/** The subtype may name another form of the messages, which is not spoken here. */
function requireProto(contentType = ''): void {
  if (/^application\/grpc(?:\+proto)?\s*(?:;|$)/i.test(contentType)) return
  throw new StatusError('UNIMPLEMENTED', 'The messages must be protobuf, with Content-Type: application/grpc+proto.')
}

async function answerOnce(rpc: RpcOf<'unary'>, running: Running): Promise<GrpcOutgoing> {
  const { deadline } = running
  const result = await deadline.limit(rpc.answer(() => readRequest(running), deadline.incoming, running))
  requireTime(deadline)
  deadline.release()
  return { headers: headersOf(running), message: encodeFrame(rpc.method.output, result), trailers: okTrailers }
}

type RpcOf<T extends Rpc['type']> = Extract<Rpc, { readonly type: T }>

async function readRequest({ rpc, incoming, options }: Running): Promise<unknown> {
  return decodeMessage(rpc.method.input, await readMessage(incoming, options.messageLimit))
}

/** What stops at its signal may do so quietly. */
function requireTime(deadline: Deadline): void {
  if (deadline.hasPassed()) throw deadlinePassed()
}

function headersOf({ headers: told, deadline, options: { metadataFor } }: Running, own = told): Metadata {
  const more = metadataFor?.(deadline.incoming)
  return more ? { ...own, ...more } : own
}

/** Headers wait for the first message, so that what fails before it is a plain refusal. */
async function openStream(rpc: RpcOf<'stream' | 'conversation'>, running: Running): Promise<GrpcOutgoing> {
  const { incoming } = running.deadline
  const answers =
    rpc.type === 'stream'
      ? rpc.answer(() => readRequest(running), incoming, running)
      : rpc.answer(readRequests(running), incoming)
  const rest = frames(answers, running)
  const { done, value } = await rest.next()
  return done ? { headers, trailers: value } : { headers: headersOf(running), first: value, rest }
}

async function* readRequests({ rpc, incoming }: Running): AsyncGenerator<unknown> {
  for await (const message of readMessages(incoming, wordLimit)) yield decodeMessage(rpc.method.input, message)
}

/** A failure before the first message is thrown; one after it is told in the trailers. */
async function* frames(answers: AsyncIterable<Told>, running: Running): AsyncGenerator<Uint8Array, Metadata> {
  const { rpc, deadline } = running
  let begun = false
  try {
    for await (const told of answers) {
      yield encodeFrame(rpc.method.output, told.json, told)
      begun = true
    }
    requireTime(deadline)
    return okTrailers
  } catch (error) {
    if (!begun) throw error
    return refusal(error, running).trailers
  } finally {
    deadline.release()
  }
}

function refusal(error: unknown, running: Running) {
  const { rpc, incoming, options, deadline } = running
  const known = deadline.hasPassed() ? deadlinePassed() : error
  const told = known instanceof StatusError ? known : toCallerError(known, { onError: options.onError, incoming })
  return { headers: headersOf(running, refusalHeaders), trailers: errorTrailers(told, rpc.encodeError) }
}
