import { type DescMessage, fromBinary, type JsonValue, toJson } from '@bufbuild/protobuf'
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
    const problem = error instanceof Error ? `: ${error.message}` : ''
    throw new A2AError('parse-error', `The message is not a ${type.typeName}${problem}.`, { cause: error })
  }
}

const writer = new WireWriter()

/** With so many empty bytes before it. */
export function encodeMessage(type: DescMessage, json: Json, head = 0): Uint8Array {
  // What was left of a message that failed is dropped.
  writer.reset()
  messageWriter(type)(json, writer)
  return writer.take(head)
}
