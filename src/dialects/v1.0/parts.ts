import type { JsonObject, Part } from '../../protocol/model.ts'
import type { Draft } from '../draft.ts'

export function encodePart(part: Part): JsonObject {
  const wire = draftContent(part)
  if (part.filename) wire.filename = part.filename
  if (part.mediaType) wire.mediaType = part.mediaType
  if (part.metadata) wire.metadata = part.metadata
  return wire
}

/** The member of a oneof is there even if it is empty: it says which one it is. */
function draftContent(part: Part): Draft {
  if ('text' in part) return { text: part.text }
  if ('raw' in part) return { raw: part.raw }
  if ('url' in part) return { url: part.url }
  return { data: part.data }
}
