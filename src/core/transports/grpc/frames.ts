import type { DescMessage } from '@bufbuild/protobuf'
import type { Json } from '../../base/json.ts'
import { BodyTooLarge } from '../../http/exchange.ts'
import { Overloaded } from '../../http/load.ts'
import { overloaded } from '../server/call.ts'
import { type EventNumbers, encodeMessage } from './codec.ts'
import type { GrpcIncoming } from './rpc.ts'
import { StatusError } from './status.ts'

/** A message on the wire is a compression flag of one byte, its length in four bytes, and its bytes. */
export const frameHeadLength = 5

export function encodeFrame(type: DescMessage, json: Json, numbers?: EventNumbers): Uint8Array {
  const bytes = encodeMessage(type, json, frameHeadLength, numbers)
  new DataView(bytes.buffer).setUint32(1, bytes.length - frameHeadLength)
  return bytes
}

/** Reads the one message of a unary call or a server stream. */
export async function readMessage(incoming: GrpcIncoming, limit: number): Promise<Uint8Array> {
  let body: Uint8Array
  try {
    body = await incoming.bytes(frameHeadLength + limit)
  } catch (error) {
    throw bodyError(error, limit)
  }
  const frame = takeFrame(body, limit)
  if (frame === undefined) throw body.length === 0 ? notOneMessage() : cutOff()
  if (frame.end !== body.length) throw notOneMessage()
  return decompress(frame, incoming, limit)
}

/** The body of a call, or of the response to one. */
export type MessageSource = Pick<GrpcIncoming, 'chunks' | 'header'>

/** Reads messages as they arrive. */
export async function* readMessages(source: MessageSource, limit: number): AsyncGenerator<Uint8Array> {
  let chunks: Uint8Array[] = []
  let length = 0
  let needed = frameHeadLength
  for await (const chunk of source.chunks()) {
    chunks.push(chunk)
    length += chunk.length
    // The chunks of a long message are joined once, when it is complete.
    if (length < needed) continue
    let rest = chunks.length === 1 ? chunk : concat(chunks, length)
    for (let frame = takeFrame(rest, limit); frame; frame = takeFrame(rest, limit)) {
      rest = rest.subarray(frame.end)
      yield await decompress(frame, source, limit)
    }
    chunks = [rest]
    length = rest.length
    needed = length < frameHeadLength ? frameHeadLength : frameHeadLength + messageLength(rest)
  }
  if (length > 0) throw cutOff()
}

/** Compression names in gRPC. Responses are never compressed. */
const formats: ReadonlyMap<string, CompressionFormat> = new Map([
  ['gzip', 'gzip'],
  ['deflate', 'deflate'],
])

export const acceptedEncodings = ['identity', ...formats.keys()].join(',')

/** Rejects a call with an unknown compression before its messages are read. */
export function requireEncoding(encoding = 'identity'): void {
  if (encoding === 'identity' || formats.has(encoding)) return
  throw new StatusError(
    'UNIMPLEMENTED',
    `Messages compressed with ${encoding} cannot be read, but ${acceptedEncodings}.`,
  )
}

/** Decompresses a message. Stops at the limit, because a small message may inflate to a huge one. */
export async function inflate(message: Uint8Array, encoding: string | undefined, limit: number): Promise<Uint8Array> {
  const format = formats.get(encoding ?? 'identity')
  if (format === undefined) {
    throw new StatusError('INTERNAL', 'The message is marked as compressed, but grpc-encoding names no compression.')
  }
  const chunks: Uint8Array<ArrayBuffer>[] = []
  let length = 0
  try {
    const inflated = new Blob([new Uint8Array(message)]).stream().pipeThrough(new DecompressionStream(format))
    for await (const chunk of inflated) {
      length += chunk.length
      if (length > limit) break
      chunks.push(chunk)
    }
  } catch (error) {
    throw new StatusError('INTERNAL', `The message is not valid ${format}.`, { cause: error })
  }
  if (length > limit) throw new StatusError('RESOURCE_EXHAUSTED', `The message unfolds into more than ${limit} bytes.`)
  return new Uint8Array(await new Blob(chunks).arrayBuffer())
}

function bodyError(error: unknown, limit: number): unknown {
  if (error instanceof Overloaded) return overloaded(error)
  return error instanceof BodyTooLarge ? tooLong(limit) : error
}

interface Frame {
  readonly isCompressed: boolean
  readonly message: Uint8Array
  readonly end: number
}

/** Undefined while the first frame is incomplete. */
function takeFrame(bytes: Uint8Array, limit: number): Frame | undefined {
  if (bytes.length < frameHeadLength) return undefined
  const length = messageLength(bytes)
  if (length > limit) throw tooLong(limit)
  const end = frameHeadLength + length
  if (bytes.length < end) return undefined
  return { isCompressed: bytes[0] === 1, message: bytes.subarray(frameHeadLength, end), end }
}

/** The length of the message whose frame starts with these bytes. */
function messageLength(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(1)
}

function decompress(
  { isCompressed, message }: Frame,
  source: MessageSource,
  limit: number,
): Uint8Array | Promise<Uint8Array> {
  return isCompressed ? inflate(message, source.header('grpc-encoding'), limit) : message
}

function concat(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const joined = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    joined.set(chunk, at)
    at += chunk.length
  }
  return joined
}

function tooLong(limit: number): StatusError {
  return new StatusError('RESOURCE_EXHAUSTED', `The message is longer than ${limit} bytes.`)
}

function notOneMessage(): StatusError {
  return new StatusError('UNIMPLEMENTED', 'This method takes exactly one message.')
}

function cutOff(): StatusError {
  return new StatusError('INTERNAL', 'The body ends within a message.')
}
