import { isObject, type Json, type JsonObject } from '../base/json.ts'

// Before 1.0, only files have a name and a media type, and data must be an object. What text or data has beyond that is
// written into its metadata, under keys that other A2A SDKs use as well, and is removed from there when it is read.
const mediaTypeKey = 'a2a.mediaType'
const filenameKey = 'a2a.filename'

/** Marks data that was wrapped in an object. */
const wrappedKey = 'data_part_compat'

export interface Annotations {
  readonly mediaType?: string
  readonly filename?: string
  readonly metadata?: JsonObject
}

export interface WireData {
  readonly data: JsonObject
  readonly metadata?: JsonObject
}

/** Wraps data that is not an object into one, and writes the annotations into its metadata. */
export function wrapData(data: Json, annotations: Annotations): WireData {
  const metadata = encodeAnnotations(annotations)
  if (isObject(data)) return { data, metadata }
  return { data: { value: data }, metadata: withKeys(metadata, { [wrappedKey]: true }) }
}

/** Undoes `wrapData`. */
export function unwrapData({ data, metadata }: WireData): Annotations & { readonly data: Json } {
  if (metadata?.[wrappedKey] !== true || !isWrapper(data)) return { data, ...decodeAnnotations(metadata) }
  return { data: data.value, ...decodeAnnotations(withoutKeys(metadata, { [wrappedKey]: true })) }
}

/** Returns the metadata of a part with its media type and filename in it. */
export function encodeAnnotations({ mediaType, filename, metadata }: Annotations): JsonObject | undefined {
  if (!mediaType && !filename) return metadata
  return withKeys(metadata, { [mediaTypeKey]: mediaType || undefined, [filenameKey]: filename || undefined })
}

/** Undoes `encodeAnnotations`. */
export function decodeAnnotations(metadata: JsonObject | undefined): Annotations {
  if (metadata === undefined) return {}
  const mediaType = nonEmptyString(metadata[mediaTypeKey])
  const filename = nonEmptyString(metadata[filenameKey])
  return {
    mediaType,
    filename,
    metadata: withoutKeys(metadata, { [mediaTypeKey]: mediaType, [filenameKey]: filename }),
  }
}

/** Adds the keys that have a value. */
export function withKeys(metadata: JsonObject | undefined, keys: Keys): JsonObject | undefined {
  const added = Object.entries(keys).filter((entry): entry is [string, Json] => entry[1] !== undefined)
  return added.length === 0 ? metadata : { ...metadata, ...Object.fromEntries(added) }
}

/** Removes the keys that have a value. Metadata that becomes empty did not exist before `withKeys`. */
export function withoutKeys(metadata: JsonObject | undefined, keys: Keys): JsonObject | undefined {
  const removed = Object.keys(keys).filter((key) => keys[key] !== undefined)
  if (metadata === undefined || removed.length === 0) return metadata
  const rest = Object.entries(metadata).filter(([key]) => !removed.includes(key))
  return rest.length === 0 ? undefined : Object.fromEntries(rest)
}

type Keys = Readonly<Record<string, Json | undefined>>

function nonEmptyString(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Objects are never wrapped: if the value is an object, another writer set the mark. */
function isWrapper(data: JsonObject): data is { readonly value: Json } {
  return Object.keys(data).length === 1 && data.value !== undefined && !isObject(data.value)
}
