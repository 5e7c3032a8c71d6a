import { type DescMessage, fromBinary, type JsonValue, toJson } from '@bufbuild/protobuf'
import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { Json } from '../../base/json.ts'
import { A2AError } from '../../protocol/errors.ts'
import { registry } from './proto-registry.ts'
import { messageWriter, WireWriter } from './protobuf-writer.ts'

/**
 * The field in which a stream tells the number of an event, by which it can be gone on with. No message has it: whoever
 * does not know it skips it, as protobuf has it of all unknown fields.
 */
const numberField = 15_000

/** The number of the event before it, where that is not to be guessed. */
const followsField = 15_001

const writer = new WireWriter()

/** A message as ProtoJSON. What the wire did not set is absent, as are defaults of fields without presence. */
export function decodeMessage(type: DescMessage, bytes: Uint8Array): JsonValue {
  try {
    return toJson(type, fromBinary(type, bytes, { readUnknownFields: false }), { registry })
  } catch (error) {
    throw wrongMessage(type, error)
  }
}

export interface Numbers {
  readonly number?: number | undefined
  readonly follows?: number | undefined
}

/** The same of a message that may be numbered. */
export function decodeNumbered(type: DescMessage, bytes: Uint8Array): Numbers & { readonly json: JsonValue } {
  try {
    const message = fromBinary(type, bytes)
    const numberIn = (wanted: number) => {
      const field = message.$unknown?.find(({ no, wireType }) => no === wanted && wireType === 0)
      return field && new BinaryReader(field.data).uint32()
    }
    const json = toJson(type, message, { registry })
    return { json, number: numberIn(numberField), follows: numberIn(followsField) }
  } catch (error) {
    throw wrongMessage(type, error)
  }
}

/** With so many empty bytes before it, and with its numbers if it has any. */
export function encodeMessage(type: DescMessage, json: Json, head = 0, { number, follows }: Numbers = {}): Uint8Array {
  // What was left of a message that failed is dropped.
  writer.reset()
  messageWriter(type)(json, writer)
  if (number !== undefined) writeNumber(numberField, number)
  if (follows !== undefined) writeNumber(followsField, follows)
  return writer.take(head)
}

function wrongMessage({ typeName }: DescMessage, error: unknown): A2AError {
  const problem = error instanceof Error ? `: ${error.message}` : ''
  return new A2AError('parse-error', `The message is not a ${typeName}${problem}.`, { cause: error })
}

function writeNumber(field: number, value: number): void {
  writer.varint(field << 3)
  writer.varint(value)
}
