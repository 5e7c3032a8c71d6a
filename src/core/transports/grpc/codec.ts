import { type DescMessage, fromBinary, type JsonValue, toJson } from '@bufbuild/protobuf'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { Json } from '../../base/json.ts'
import { A2AError } from '../../protocol/errors.ts'
import { registry } from './proto-registry.ts'
import { messageWriter, ProtobufWriter } from './protobuf-writer.ts'

/** The event numbers that travel with a stream message, so that a client can resume after it. */
export interface EventNumbers {
  readonly number?: number | undefined
  /** The number of the event before it, where a client cannot infer it. */
  readonly follows?: number | undefined
}

/** Decodes a message to ProtoJSON. Unset fields are absent, as are defaults of fields without presence. */
export function decodeMessage(type: DescMessage, bytes: Uint8Array): Json {
  try {
    return toJson(type, fromBinary(type, bytes, { readUnknownFields: false }), { registry })
  } catch (error) {
    throw decodingFailed(type, error)
  }
}

/** Decodes a message together with its event numbers, if it has any. */
export function decodeNumbered(type: DescMessage, bytes: Uint8Array): EventNumbers & { readonly json: JsonValue } {
  try {
    const message = fromBinary(type, bytes)
    const readNumber = (fieldNumber: number) => {
      const field = message.$unknown?.find(({ no, wireType }) => no === fieldNumber && wireType === 0)
      return field && new BinaryReader(field.data).uint32()
    }
    const json = toJson(type, message, { registry })
    return { json, number: readNumber(numberField), follows: readNumber(followsField) }
  } catch (error) {
    throw decodingFailed(type, error)
  }
}

/** Encodes a message with its event numbers, after `head` empty bytes. */
export function encodeMessage(
  type: DescMessage,
  json: Json,
  head = 0,
  { number, follows }: EventNumbers = {},
): Uint8Array {
  // Drops what a failed message left behind.
  writer.reset()
  messageWriter(type)(json, writer)
  if (number !== undefined) writeNumber(numberField, number)
  if (follows !== undefined) writeNumber(followsField, follows)
  return writer.take(head)
}

/**
 * The fields that carry event numbers. No message in `proto/` declares them: other clients skip them, as protobuf
 * requires for unknown fields.
 */
const numberField = 15_000

const followsField = 15_001

const writer = new ProtobufWriter()

function writeNumber(field: number, value: number): void {
  writer.varint(field << 3)
  writer.varint(value)
}

function decodingFailed({ typeName }: DescMessage, error: unknown): A2AError {
  const problem = error instanceof Error ? `: ${error.message}` : ''
  return new A2AError('parse-error', `The message is not a ${typeName}${problem}.`, { cause: error })
}
