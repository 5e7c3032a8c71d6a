import type { DescMessage } from '@bufbuild/protobuf'
import { trailersOf } from '../../http/trailers.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { WireClientOptions } from '../client-options.ts'
import { foreignAnswer } from '../foreign-answer.ts'
import { readAnswer } from '../read-answer.ts'
import { decodeNumbered, type Numbers } from './codec.ts'
import { readMessages } from './frames.ts'
import { StatusError } from './status.ts'
import { toldStatus } from './told-status.ts'

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

/** The messages of an answer as they come. It throws what the end of the answer tells, if that is an error. */
export async function* readReply(response: Response, options: ReplyOptions): AsyncGenerator<ReplyMessage> {
  const { type, url, dialect, messageLimit } = options
  const contentType = response.headers.get('content-type') ?? ''
  if (!contentType.startsWith('application/grpc')) throw foreignAnswer(await readAnswer(response, options))
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

function broken(error: StatusError, url: string): A2AError {
  const problem = `The answer of ${url} cannot be read: ${error.message}`
  return new A2AError('invalid-agent-response', problem, { cause: error, url, reason: 'broken-event' })
}

/** An answer that is whole ends with a status. */
function cutOff(url: string): A2AError {
  return new A2AError('unavailable', `The answer of ${url} broke off.`, { url, reason: 'connection-lost' })
}

async function* iterate(body: ReadableStream<Uint8Array> | null): AsyncGenerator<Uint8Array> {
  if (body) yield* body
}
