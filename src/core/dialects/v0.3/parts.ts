import { isList, isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { Part } from '../../protocol/model.ts'
import type { Infer } from '../../schema/schema.ts'
import { carryCodec, type Draft } from '../codec.ts'
import { decodeAnnotations, encodeAnnotations, unwrapData, type WireData, wrapData } from '../legacy-codec.ts'
import type * as wire from './schemas.ts'

/** The media type of a data part that holds a part of a kind that 0.3 does not have. */
const unknownPartType = 'application/vnd.a2a.unknown-part+json'

export const standardKinds: ReadonlySet<unknown> = new Set(['text', 'file', 'data'])

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
    if (isList(part.data) && readCarry(part.carry).list) {
      return withMetadata({ kind: 'data', data: part.data }, encodeAnnotations(part))
    }
    const { data, metadata } = wrapData(part.data, part)
    return isWrapped(part) ? data : withMetadata({ kind: 'data', data }, metadata)
  }
  const file: Draft = 'raw' in part ? { bytes: part.raw } : { uri: part.url }
  if (part.filename !== undefined) file.name = part.filename
  if (part.mediaType !== undefined) file.mimeType = part.mediaType
  return withMetadata({ kind: 'file', file }, part.metadata)
}

/** Wraps a wire part of an unknown kind as a data part, which `encodePart` unwraps again. */
export function wrapUnknownPart(part: JsonObject): JsonObject {
  return { kind: 'data', data: part, metadata: unknownPartMetadata }
}

/** Wraps a list that its sender wrote as data. It is written as a list again. */
export function wrapList(list: readonly Json[], metadata: unknown): JsonObject {
  const wrapped = wrapData(list, isObject(metadata) ? { metadata } : {})
  if (wrapped.metadata) listMetadata.add(wrapped.metadata)
  return { kind: 'data', ...wrapped }
}

/** As `wrapUnknownPart`, in the model. */
export function unknownPartOf(data: JsonObject): Part {
  return { data, mediaType: unknownPartType }
}

/** Whether the data of the part is a wrapped part of an unknown kind. */
export function isWrapped(part: Part): boolean {
  return looksWrapped(part) && readCarry(part.carry).literal !== true
}

/** 0.2 has the same objects, so it shares the carry. */
export const { toCarry, readCarry } = carryCodec('v0.3')

/** A data part of the sender that looks like a wrapped part is marked, so that it stays a data part. */
function decodeData(wire: WireData): Part {
  const part = unwrapData(wire)
  if (wire.metadata && listMetadata.has(wire.metadata)) return { ...part, ...toCarry({ list: true }) }
  return wire.metadata !== unknownPartMetadata && looksWrapped(part) ? { ...part, ...toCarry({ literal: true }) } : part
}

/** The metadata of lists that were wrapped. */
const listMetadata = new WeakSet<object>()

/** Compared by identity, so that no sender can forge it. */
const unknownPartMetadata: JsonObject = encodeAnnotations({ mediaType: unknownPartType }) ?? {}

function looksWrapped(part: Part): boolean {
  if (!('data' in part) || !isObject(part.data)) return false
  const { data, mediaType, filename, metadata } = part
  const { kind } = data
  const isBare = filename === undefined && metadata === undefined
  return mediaType === unknownPartType && isBare && typeof kind === 'string' && !standardKinds.has(kind)
}

function withMetadata(wire: Draft, metadata: JsonObject | undefined): JsonObject {
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}
