import { type DescMessage, fromBinary, type JsonValue, toJson } from '@bufbuild/protobuf'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import { A2AError } from '../../protocol/errors.ts'
import type { Json } from '../../protocol/model.ts'
import { messageWriter } from './json-writer.ts'
import { registry } from './registry.ts'
import { WireWriter } from './wire-writer.ts'

/** A message as ProtoJSON. What the wire did not set is absent, as are defaults of fields without presence. */
export function decodeMessage(type: DescMessage, bytes: Uint8Array): JsonValue {
  try {
    return toJson(type, fromBinary(type, bytes, { readUnknownFields: false }), { registry })
  } catch (error) {
    throw wrongMessage(type, error)
  }
}

/**
 * The field in which a stream tells the number of an event, by which it can be gone on with. No message has it: whoever
 * does not know it skips it, as protobuf has it of all unknown fields.
 */
const numberField = 15_000

/** The same of a message that may be numbered. */
export function decodeNumbered(
  type: DescMessage,
  bytes: Uint8Array,
): { readonly json: JsonValue; readonly number?: number } {
  try {
    const message = fromBinary(type, bytes)
    const field = message.$unknown?.find(({ no, wireType }) => no === numberField && wireType === 0)
    const json = toJson(type, message, { registry })
    return field ? { json, number: new BinaryReader(field.data).uint32() } : { json }
  } catch (error) {
    throw wrongMessage(type, error)
  }
}

function wrongMessage({ typeName }: DescMessage, error: unknown): A2AError {
  const problem = error instanceof Error ? `: ${error.message}` : ''
  return new A2AError('parse-error', `The message is not a ${typeName}${problem}.`, { cause: error })
}

const writer = new WireWriter()

/** With so many empty bytes before it, and with its number if it has one. */
export function encodeMessage(type: DescMessage, json: Json, head = 0, number?: number): Uint8Array {
  // What was left of a message that failed is dropped.
  writer.reset()
  messageWriter(type)(json, writer)
  if (number !== undefined) {
    writer.varint(numberField << 3)
    writer.varint(number)
  }
  return writer.take(head)
}
