import type { Json, JsonObject } from '../../base/json.ts'
import type { Message, Part } from '../../protocol/model.ts'
import { type Infer, tryRead } from '../../schema/schema.ts'
import { list } from '../../schema/values.ts'
import { carryCodec, id, maxListItems, withoutKeys } from '../codec.ts'
import { decodeAnnotations, encodeAnnotations, unwrapData, withKeys, wrapData } from '../legacy-codec.ts'
import type * as wire from './schemas.ts'

/** The metadata key of the tasks that a message refers to: the proto of 0.3 has no member for them. */
const referencesKey = 'a2a.referenceTaskIds'

export const carry = carryCodec('v0.3-proto')

export const { toCarry, readCarry } = carry

const References = list(id, { min: 1, max: maxListItems })

export function decodePart(part: Infer<typeof wire.Part>): Part {
  const { metadata } = part
  if ('text' in part) return { text: part.text, ...decodeAnnotations(metadata) }
  if ('data' in part) return unwrapData({ data: part.data.data, metadata })
  const { file } = part
  const content = 'fileWithBytes' in file ? { raw: file.fileWithBytes } : { url: file.fileWithUri }
  return { ...content, filename: file.name, mediaType: file.mimeType, metadata }
}

export function encodePart(part: Part): JsonObject {
  if ('text' in part) return draft('text', part.text, encodeAnnotations(part))
  if ('data' in part) {
    const { data, metadata } = wrapData(part.data, part)
    return draft('data', { data }, metadata)
  }
  const file: Record<string, Json> = 'raw' in part ? { fileWithBytes: part.raw } : { fileWithUri: part.url }
  if (part.mediaType) file.mimeType = part.mediaType
  if (part.filename) file.name = part.filename
  return draft('file', file, part.metadata)
}

export function encodeReferences({ referenceTaskIds, metadata }: ReferenceFields): Message['metadata'] {
  return withKeys(metadata, { [referencesKey]: referenceTaskIds?.length ? referenceTaskIds : undefined })
}

export function decodeReferences({ metadata }: Pick<Message, 'metadata'>): ReferenceFields {
  // Any other value under the key belongs to another writer, and stays in the metadata.
  const referenceTaskIds = tryRead(References, metadata?.[referencesKey])
  return { referenceTaskIds, metadata: withoutKeys(metadata, { [referencesKey]: referenceTaskIds }) }
}

function draft(content: string, value: Json, metadata: JsonObject | undefined): JsonObject {
  return metadata === undefined ? { [content]: value } : { [content]: value, metadata }
}

type ReferenceFields = Pick<Message, 'referenceTaskIds' | 'metadata'>
