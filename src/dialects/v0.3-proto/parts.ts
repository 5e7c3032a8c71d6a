import type { Json, JsonObject, Part } from '../../protocol/model.ts'
import { decodeAnnotations, encodeAnnotations, unwrapData, wrapData } from '../compat-metadata.ts'
import type { TypeOf } from '../shape.ts'
import type * as wire from './schemas.ts'

export function decodePart(part: TypeOf<typeof wire.Part>): Part {
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

function draft(content: string, value: Json, metadata: JsonObject | undefined): JsonObject {
  return metadata === undefined ? { [content]: value } : { [content]: value, metadata }
}
