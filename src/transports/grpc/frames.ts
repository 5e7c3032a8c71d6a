import type { DescMessage } from '@bufbuild/protobuf'
import { BodyTooLarge } from '../../http/exchange.ts'
import type { Json } from '../../protocol/model.ts'
import { encodeMessage } from './codec.ts'
import { inflate } from './inflate.ts'
import type { GrpcIncoming } from './rpc.ts'
import { StatusError } from './status.ts'

/** A message on the wire is a byte that tells whether it is compressed, four bytes of length, and its bytes. */
const headLength = 5

export function encodeFrame(type: DescMessage, json: Json): Uint8Array {
  const bytes = encodeMessage(type, json, headLength)
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

async function readBody(incoming: GrpcIncoming, limit: number): Promise<Uint8Array> {
  try {
    return await incoming.bytes(headLength + limit)
  } catch (error) {
    throw error instanceof BodyTooLarge ? tooLong(limit) : error
  }
}

/** The messages of a call that is a conversation, as they come. */
export async function* readMessages(incoming: GrpcIncoming, limit: number): AsyncGenerator<Uint8Array> {
  let rest = new Uint8Array()
  for await (const chunk of incoming.chunks()) {
    rest = join(rest, chunk)
    for (let taken = takeFrame(rest, limit); taken; taken = takeFrame(rest, limit)) {
      rest = rest.subarray(taken.end)
      yield await open(taken, incoming, limit)
    }
  }
  if (rest.length > 0) throw cutOff()
}

interface Frame {
  readonly isCompressed: boolean
  readonly message: Uint8Array
  readonly end: number
}

/** Undefined while it is not whole. */
function takeFrame(bytes: Uint8Array, limit: number): Frame | undefined {
  if (bytes.length < headLength) return undefined
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(1)
  if (length > limit) throw tooLong(limit)
  const end = headLength + length
  if (bytes.length < end) return undefined
  return { isCompressed: bytes[0] === 1, message: bytes.subarray(headLength, end), end }
}

function open(
  { isCompressed, message }: Frame,
  incoming: GrpcIncoming,
  limit: number,
): Uint8Array | Promise<Uint8Array> {
  return isCompressed ? inflate(message, incoming.header('grpc-encoding'), limit) : message
}

function join(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const joined = new Uint8Array(first.length + second.length)
  joined.set(first)
  joined.set(second, first.length)
  return joined
}

function tooLong(limit: number): StatusError {
  return new StatusError('RESOURCE_EXHAUSTED', `The message is longer than ${limit} bytes.`)
}

function notOne(): StatusError {
  return new StatusError('UNIMPLEMENTED', 'This method takes exactly one message.')
}

function cutOff(): StatusError {
  return new StatusError('INTERNAL', 'The body ends within a message.')
}
