import type { Json, JsonObject } from '../base/json.ts'
import { isObject } from '../base/json.ts'

/**
 * Before 1.0 only files have a name and a media type, and data is an object. What a text or data has beyond that
 * travels in its metadata, under keys that other SDKs of A2A know as well, and is taken out of there on the way back.
 */
const mediaTypeKey = 'a2a.mediaType'

const filenameKey = 'a2a.filename'

/** On data that had to be put into an object. */
const wrappedKey = 'data_part_compat'

export interface Annotations {
  readonly mediaType?: string
  readonly filename?: string
  readonly metadata?: JsonObject
}

export interface Data {
  readonly data: JsonObject
  readonly metadata?: JsonObject
}

export function wrapData(data: Json, annotations: Annotations): Data {
  const metadata = encodeAnnotations(annotations)
  if (isObject(data)) return { data, metadata }
  return { data: { value: data }, metadata: withKeys(metadata, { [wrappedKey]: true }) }
}

export function unwrapData({ data, metadata }: Data): Annotations & { readonly data: Json } {
  if (metadata?.[wrappedKey] !== true || !isWrapper(data)) return { data, ...decodeAnnotations(metadata) }
  return { data: data.value, ...decodeAnnotations(withoutKeys(metadata, { [wrappedKey]: true })) }
}

export function encodeAnnotations({ mediaType, filename, metadata }: Annotations): JsonObject | undefined {
  if (!mediaType && !filename) return metadata
  return withKeys(metadata, { [mediaTypeKey]: mediaType || undefined, [filenameKey]: filename || undefined })
}

export function withKeys(metadata: JsonObject | undefined, keys: Keys): JsonObject | undefined {
  const added = Object.entries(keys).filter((entry): entry is [string, Json] => entry[1] !== undefined)
  return added.length === 0 ? metadata : { ...metadata, ...Object.fromEntries(added) }
}

export function decodeAnnotations(metadata: JsonObject | undefined): Annotations {
  if (metadata === undefined) return {}
  const mediaType = nameOf(metadata[mediaTypeKey])
  const filename = nameOf(metadata[filenameKey])
  return {
    mediaType,
    filename,
    metadata: withoutKeys(metadata, { [mediaTypeKey]: mediaType, [filenameKey]: filename }),
  }
}

/** Metadata that has nothing else was not there before. */
export function withoutKeys(metadata: JsonObject | undefined, keys: Keys): JsonObject | undefined {
  const taken = Object.keys(keys).filter((key) => keys[key] !== undefined)
  if (metadata === undefined || taken.length === 0) return metadata
  const rest = Object.entries(metadata).filter(([key]) => !taken.includes(key))
  return rest.length === 0 ? undefined : Object.fromEntries(rest)
}

function nameOf(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** An object needs no wrapping: where one is in there, the flag is somebody else's. */
function isWrapper(data: JsonObject): data is { readonly value: Json } {
  return Object.keys(data).length === 1 && data.value !== undefined && !isObject(data.value)
}

/** Those that are undefined are none. */
type Keys = Readonly<Record<string, Json | undefined>>
