import type { Json, JsonObject, Part } from '../../protocol/model.ts'
import { isObject } from '../is-object.ts'
import { carriedBy, toCarry } from './carry.ts'
import { beside, withMarks, withoutMarks } from './marks.ts'
import type { Part as WirePart } from './schemas.ts'

/** Here only files have a name and a media type, and data is an object. */
const mediaTypeMark = 'a2a.mediaType'
const filenameMark = 'a2a.filename'
const wrappedMark = 'data_part_compat'

/** Of data that stands for a file which is only named: no later version has such a part. */
const fileReference = 'application/vnd.a2a.file-reference+json'

export function decodePart(part: WirePart): Part {
  if ('text' in part) return { text: part.text.text, ...decodeMarks(part.text.metadata) }
  return 'file' in part ? decodeFile(part.file) : decodeData(part.data)
}

function decodeFile({ file, metadata }: Extract<WirePart, { readonly file: unknown }>['file']): Part {
  const { name, mimeType, bytes, uri } = file
  if (bytes === undefined && uri === undefined) {
    return { data: { file: { ...file } }, mediaType: fileReference, ...beside(metadata) }
  }
  return {
    ...(uri === undefined ? { raw: bytes ?? '' } : { url: uri }),
    ...(name !== undefined && { filename: name }),
    ...(mimeType !== undefined && { mediaType: mimeType }),
    ...beside(metadata),
  }
}

/** A list is no data by the schema of 0.1, but is by its text: it is read, and is a list again only here. */
function decodeData({ data, metadata }: Extract<WirePart, { readonly data: unknown }>['data']): Part {
  if (Array.isArray(data)) return { data, ...decodeMarks(metadata), carry: toCarry({ list: true }) }
  if (metadata?.[wrappedMark] !== true || !isWrapper(data)) return { data, ...decodeMarks(metadata) }
  return { data: data.value, ...decodeMarks(withoutMarks(metadata, { [wrappedMark]: true })) }
}

/** An object is never wrapped: one with the mark that holds an object is somebody else's. */
function isWrapper(data: Json): data is { readonly value: Json } {
  return isObject(data) && Object.keys(data).length === 1 && data.value !== undefined && !isObject(data.value)
}

export function encodePart(part: Part): JsonObject {
  if ('text' in part) return { type: 'text', text: part.text, ...encodeMarks(part) }
  const { filename: name, mediaType: mimeType, metadata } = part
  if ('raw' in part) return encodeFile({ name, mimeType, bytes: part.raw }, metadata)
  if ('url' in part) return encodeFile({ name, mimeType, uri: part.url }, metadata)
  const { data } = part
  if (mimeType === fileReference && isObject(data) && isObject(data.file)) {
    return encodeFile({ name: data.file.name, mimeType: data.file.mimeType }, metadata)
  }
  if (isObject(data) || carriedBy(part)) return { type: 'data', data, ...encodeMarks(part) }
  return { type: 'data', data: { value: data }, ...encodeMarks(part, { [wrappedMark]: true }) }
}

type FileMembers = Readonly<Record<string, Json | undefined>>

function encodeFile(members: FileMembers, metadata: JsonObject | undefined): JsonObject {
  const texts = Object.entries(members).filter((member): member is [string, string] => isText(member[1]))
  return { type: 'file', file: Object.fromEntries(texts), ...beside(metadata) }
}

type Marked = Pick<Part, 'mediaType' | 'filename' | 'metadata'>

function encodeMarks({ mediaType, filename, metadata }: Marked, others: JsonObject = {}) {
  return beside(withMarks(metadata, { ...others, [mediaTypeMark]: mediaType, [filenameMark]: filename }))
}

function decodeMarks(metadata: JsonObject | undefined): Marked {
  if (metadata === undefined) return {}
  const mediaType = metadata[mediaTypeMark]
  const filename = metadata[filenameMark]
  const rest = withoutMarks(metadata, {
    [mediaTypeMark]: isText(mediaType) ? mediaType : undefined,
    [filenameMark]: isText(filename) ? filename : undefined,
  })
  return { ...(isText(mediaType) && { mediaType }), ...(isText(filename) && { filename }), ...beside(rest) }
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string'
}
