import { isObject, type Json, type JsonObject } from '../../base/json.ts'
import type { Part } from '../../protocol/model.ts'
import { carryCodec, type Draft } from '../codec.ts'
import { decodeAnnotations, encodeAnnotations, unwrapData, wrapData } from '../legacy-codec.ts'
import type { Part as WirePart } from './schemas.ts'

/** The media type of data for a file that is only named: later versions have no such part. */
const fileReferenceType = 'application/vnd.a2a.file-reference+json'

export function decodePart(part: WirePart): Part {
  if ('text' in part) return { text: part.text.text, ...decodeAnnotations(part.text.metadata) }
  return 'file' in part ? decodeFile(part.file) : decodeData(part.data)
}

export function encodePart(part: Part): JsonObject {
  if ('text' in part) return withMetadata({ type: 'text', text: part.text }, encodeAnnotations(part))
  const { filename: name, mediaType: mimeType, metadata } = part
  if ('raw' in part) return encodeFile({ bytes: part.raw, name, mimeType }, metadata)
  if ('url' in part) return encodeFile({ uri: part.url, name, mimeType }, metadata)
  const { data } = part
  if (mimeType === fileReferenceType && isObject(data) && isObject(data.file)) {
    return encodeFile({ name: data.file.name, mimeType: data.file.mimeType }, metadata)
  }
  if (readCarry(part.carry).list) return withMetadata({ type: 'data', data }, encodeAnnotations(part))
  const wrapped = wrapData(data, part)
  return withMetadata({ type: 'data', data: wrapped.data }, wrapped.metadata)
}

export const { toCarry, readCarry } = carryCodec('v0.1')

function decodeFile({ file, metadata }: Extract<WirePart, { readonly file: unknown }>['file']): Part {
  const { name: filename, mimeType: mediaType, bytes, uri } = file
  if (uri !== undefined) return { url: uri, filename, mediaType, metadata }
  if (bytes !== undefined) return { raw: bytes, filename, mediaType, metadata }
  return { data: { file: { ...file } }, mediaType: fileReferenceType, metadata }
}

/** The text of 0.1 allows lists as data, its schema does not. Lists are read, and written as lists only in 0.1. */
function decodeData({ data, metadata }: Extract<WirePart, { readonly data: unknown }>['data']): Part {
  if (isObject(data)) return unwrapData({ data, metadata })
  return { data, ...decodeAnnotations(metadata), ...toCarry({ list: true }) }
}

function withMetadata(wire: Draft, metadata: JsonObject | undefined): JsonObject {
  if (metadata !== undefined) wire.metadata = metadata
  return wire
}

function encodeFile(members: FileMembers, metadata: JsonObject | undefined): JsonObject {
  const strings = Object.entries(members).filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  return withMetadata({ type: 'file', file: Object.fromEntries(strings) }, metadata)
}

type FileMembers = Readonly<Record<string, Json | undefined>>
