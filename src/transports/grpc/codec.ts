import { type DescMessage, fromBinary, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf'
import { A2AError } from '../../protocol/errors.ts'
import { registry } from './registry.ts'

/** A message as ProtoJSON. What the wire did not set is absent, as are defaults of fields without presence. */
export function decodeMessage(type: DescMessage, bytes: Uint8Array): JsonValue {
  try {
    return toJson(type, fromBinary(type, bytes, { readUnknownFields: false }), { registry })
  } catch (error) {
    const problem = error instanceof Error ? `: ${error.message}` : ''
    throw new A2AError('parse-error', `The message is not a ${type.typeName}${problem}.`, { cause: error })
  }
}

export function encodeMessage(type: DescMessage, json: unknown): Uint8Array {
  return toBinary(type, fromJson(type, json as JsonValue, { registry, ignoreUnknownFields: true }))
}
