import type { JsonObject } from '../../base/json.ts'
import { isObject } from '../../base/json.ts'
import type { Part } from '../../protocol/model.ts'
import type { Infer } from '../../schema/schema.ts'
import { carryOf, type Draft } from '../codec.ts'
import { type Data, decodeAnnotations, encodeAnnotations, unwrapData, wrapData } from '../part-metadata.ts'
import type * as wire from './schemas.ts'

/** Of data that is a whole part, of a kind that 0.3 does not have. */
const unknownPart = 'application/vnd.a2a.unknown-part+json'

const kinds: ReadonlySet<unknown> = new Set(['text', 'file', 'data'])

export function decodePart(part: Infer<typeof wire.Part>): Part {
  if ('text' in part) return { text: part.text.text, ...decodeAnnotations(part.text.metadata) }
  if ('data' in part) return decodeData(part.data)
  const { file, metadata } = part.file
  const content = 'bytes' in file ? { raw: file.bytes } : { url: file.uri }
  return { ...content, filename: file.name, mediaType: file.mimeType, metadata }
}

export function encodePart(part: Part): JsonObject {
  if ('text' in part) return withMetadata({ kind: 'text', text: part.text }, encodeAnnotations(part))
  if ('data' in part) {
    const { data, metadata } = wrapData(part.data, part)
    return isWrapped(part) ? data : withMetadata({ kind: 'data', data }, metadata)
  }
  const file: Draft = 'raw' in part ? { bytes: part.raw } : { uri: part.url }
  if (part.filename !== undefined) file.name = part.filename
  if (part.mediaType !== undefined) file.mimeType = part.mediaType
  return withMetadata({ kind: 'file', file }, part.metadata)
}

/** The data part that is written as this part again. */
export function wrapUnknownPart(part: JsonObject): JsonObject {
  return { kind: 'data', data: part, metadata: ofUnknownPart }
}

/** The same in the model. */
export function unknownPartOf(data: JsonObject): Part {
  return { data, mediaType: unknownPart }
}

/** Whether it is written as the part that its data is. */
export function isWrapped(part: Part): boolean {
  return looksWrapped(part) && carried(part.carry).literal !== true
}

/** 0.2 has the same objects, so it shares what is kept of them. */
export const { carrying, carried } = carryOf('v0.3')

/** Who sends a data part that looks like one of ours gets a data part back. */
function decodeData(wire: Data): Part {
  const part = unwrapData(wire)
  return wire.metadata !== ofUnknownPart && looksWrapped(part) ? { ...part, ...carrying({ literal: true }) } : part
}

/** Known by being this very object, which nobody can send. */
const ofUnknownPart: JsonObject = encodeAnnotations({ mediaType: unknownPart }) ?? {}

function looksWrapped(part: Part): boolean {
  if (!('data' in part) || !isObject(part.data)) return false
  const { data, mediaType, filename, metadata } = part
  const { kind } = data
  const isBare = filename === undefined && metadata === undefined
  return mediaType === unknownPart && isBare && typeof kind === 'string' && !kinds.has(kind)
}

function withMetadata(wire: Draft, metadata: JsonObject | undefined): JsonObject {
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}
