import type { DescMessage } from '@bufbuild/protobuf'
import type { Json } from '../../base/json.ts'
import { BodyTooLarge } from '../../http/exchange.ts'
import { Overloaded } from '../../http/load.ts'
import { overloaded } from '../server/read-body.ts'
import { encodeMessage, type Numbers } from './codec.ts'
import type { GrpcIncoming } from './rpc.ts'
import { StatusError } from './status.ts'

/** A message on the wire is a byte that tells whether it is compressed, four bytes of length, and its bytes. */
const headLength = 5

/** Refuses a call whose messages could not be read, before they are. */
export function requireEncoding(encoding = 'identity'): void {
  if (encoding === 'identity' || formats.has(encoding)) return
  throw new StatusError(
    'UNIMPLEMENTED',
    `Messages compressed with ${encoding} cannot be read, but ${acceptedEncodings}.`,
  )
}

export function encodeFrame(type: DescMessage, json: Json, numbers?: Numbers): Uint8Array {
  const bytes = encodeMessage(type, json, headLength, numbers)
  new DataView(bytes.buffer).setUint32(1, bytes.length - headLength)
  return bytes
}

/** The only message of a call that has one. */
export async function readMessage(incoming: GrpcIncoming, limit: number): Promise<Uint8Array> {
  const body = await readBody(incoming, limit)
  const taken = takeFrame(body, limit)
  if (taken === undefined) throw body.length === 0 ? notOne() : cutOff()
  if (taken.end !== body.length) throw notOne()
  return open(taken, incoming, limit)
}

/** Where messages come from: a call that is a conversation, or the answer to one. */
export type MessageSource = Pick<GrpcIncoming, 'chunks' | 'header'>

/** Messages as they come. */
export async function* readMessages(source: MessageSource, limit: number): AsyncGenerator<Uint8Array> {
  let chunks: Uint8Array[] = []
  let length = 0
  let needed = headLength
  for await (const chunk of source.chunks()) {
    chunks.push(chunk)
    length += chunk.length
    // A long message is put together once, when all of it is there.
    if (length < needed) continue
    let rest = chunks.length === 1 ? chunk : concat(chunks, length)
    for (let taken = takeFrame(rest, limit); taken; taken = takeFrame(rest, limit)) {
      rest = rest.subarray(taken.end)
      yield await open(taken, source, limit)
    }
    chunks = [rest]
    length = rest.length
    needed = length < headLength ? headLength : headLength + lengthIn(rest)
  }
  if (length > 0) throw cutOff()
}

/** How compressions are called in gRPC; in answers nothing is compressed. */
const formats: ReadonlyMap<string, CompressionFormat> = new Map([
  ['gzip', 'gzip'],
  ['deflate', 'deflate'],
])

export const acceptedEncodings = ['identity', ...formats.keys()].join(',')

/** A small message may unfold into a giant one, so it is measured on the way. */
export async function inflate(message: Uint8Array, encoding: string | undefined, limit: number): Promise<Uint8Array> {
  const format = formats.get(encoding ?? 'identity')
  if (format === undefined) {
    throw new StatusError('INTERNAL', 'The message is marked as compressed, but grpc-encoding does not tell how.')
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

async function readBody(incoming: GrpcIncoming, limit: number): Promise<Uint8Array> {
  try {
    return await incoming.bytes(headLength + limit)
  } catch (error) {
    if (error instanceof Overloaded) throw overloaded(error)
    throw error instanceof BodyTooLarge ? tooLong(limit) : error
  }
}

function tooLong(limit: number): StatusError {
  return new StatusError('RESOURCE_EXHAUSTED', `The message is longer than ${limit} bytes.`)
}

/** Undefined while it is not whole. */
function takeFrame(bytes: Uint8Array, limit: number): Frame | undefined {
  if (bytes.length < headLength) return undefined
  const length = lengthIn(bytes)
  if (length > limit) throw tooLong(limit)
  const end = headLength + length
  if (bytes.length < end) return undefined
  return { isCompressed: bytes[0] === 1, message: bytes.subarray(headLength, end), end }
}

interface Frame {
  readonly isCompressed: boolean
  readonly message: Uint8Array
  readonly end: number
}

/** Of the message whose head these bytes begin with. */
function lengthIn(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(1)
}

function notOne(): StatusError {
  return new StatusError('UNIMPLEMENTED', 'This method takes exactly one message.')
}

function cutOff(): StatusError {
  return new StatusError('INTERNAL', 'The body ends within a message.')
}

function open(
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
