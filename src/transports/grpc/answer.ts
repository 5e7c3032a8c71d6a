import type { Incoming } from '../../http/exchange.ts'
import { callerError } from '../caller-error.ts'
import type { WireOptions } from '../options.ts'
import { decodeMessage } from './codec.ts'
import { type Deadline, deadlinePassed, startDeadline } from './deadline.ts'
import { encodeFrame, readMessage, readMessages } from './frames.ts'
import { acceptedEncodings, requireEncoding } from './inflate.ts'
import type { GrpcIncoming, GrpcOutgoing, Metadata, Reply, Rpc, Told } from './rpc.ts'
import { StatusError } from './status.ts'
import { errorTrailers, okTrailers } from './trailers.ts'

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

const headers: Metadata = { 'content-type': 'application/grpc' }

/** Also tells those whose compression is not known which ones are. */
export const refusalHeaders: Metadata = { ...headers, 'grpc-accept-encoding': acceptedEncodings }

/** Bytes of a message in a conversation: there is only talk of names. */
const wordLimit = 4 * 1024

type RpcOf<T extends Rpc['type']> = Extract<Rpc, { readonly type: T }>

interface Running extends Reply {
  readonly rpc: Rpc
  readonly incoming: GrpcIncoming
  readonly deadline: Deadline
  readonly options: AnswerOptions
}

async function answerOnce(rpc: RpcOf<'unary'>, running: Running): Promise<GrpcOutgoing> {
  const { deadline } = running
  const result = await deadline.limit(rpc.answer(() => readRequest(running), deadline.incoming, running))
  requireTime(deadline)
  deadline.release()
  return { headers: headersOf(running), message: encodeFrame(rpc.method.output, result), trailers: okTrailers }
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

function headersOf({ headers: told, deadline, options: { metadataFor } }: Running, own = told): Metadata {
  const more = metadataFor?.(deadline.incoming)
  return more ? { ...own, ...more } : own
}

async function readRequest({ rpc, incoming, options }: Running): Promise<unknown> {
  return decodeMessage(rpc.method.input, await readMessage(incoming, options.messageLimit))
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
  const { signal } = incoming
  const known = deadline.hasPassed() ? deadlinePassed() : error
  const told = known instanceof StatusError ? known : callerError(known, { signal, onError: options.onError, incoming })
  return { headers: headersOf(running, refusalHeaders), trailers: errorTrailers(told, rpc.encodeError) }
}

/** What stops at its signal may do so quietly. */
function requireTime(deadline: Deadline): void {
  if (deadline.hasPassed()) throw deadlinePassed()
}

/** The subtype may name another form of the messages, which is not spoken here. */
function requireProto(contentType = ''): void {
  if (/^application\/grpc(?:\+proto)?\s*(?:;|$)/i.test(contentType)) return
  throw new StatusError('UNIMPLEMENTED', 'The messages must be protobuf, with Content-Type: application/grpc+proto.')
}
