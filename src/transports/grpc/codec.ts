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
  try {
    return toBinary(type, readJson(type, json))
  } catch {
    return toBinary(type, readJson(type, wellFormed(json)))
  }
}

function readJson(type: DescMessage, json: unknown) {
  return fromJson(type, json as JsonValue, { registry, ignoreUnknownFields: true })
}

/** Where a chunk ends within an emoji, its text ends with half a pair: JSON can carry that, UTF-8 cannot. */
function wellFormed(json: unknown): JsonValue {
  return JSON.parse(JSON.stringify(json, (_, value) => (typeof value === 'string' ? value.toWellFormed() : value)))
}
