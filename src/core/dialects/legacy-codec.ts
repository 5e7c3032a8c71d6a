import { isObject, type Json, type JsonObject } from '../base/json.ts'
import type { Schema } from '../schema/schema.ts'
import { type Members, withoutKeys } from './codec.ts'

// What the codecs of the versions before 1.0 share.

export const legacyFacts = { extensionsHeader: 'x-a2a-extensions', hasErrorEvents: true } as const

// Before 1.0, only files have a name and a media type, and data must be an object. What text or data has beyond that is
// written into its metadata, under keys that other A2A SDKs use as well, and is removed from there when it is read.
const mediaTypeKey = 'a2a.mediaType'
const filenameKey = 'a2a.filename'

/** Marks data that was wrapped in an object. */
const wrappedKey = 'data_part_compat'

/** Repairs known deviations from a schema. */
export type Clean = (wire: unknown) => unknown

export type LenientRead = <T>(schema: Schema<T>, wire: unknown, clean: Clean) => T

/** Returns a reader that cleans a value only if the schema rejects it, so that valid values cost nothing more. */
export function lenientReader(read: <T>(schema: Schema<T>, wire: unknown) => T): LenientRead {
  return (schema, wire, clean) => {
    try {
      return read(schema, wire)
    } catch {
      return read(schema, clean(wire))
    }
  }
}

/** What 1.0 says about every part, and older versions only about files. */
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
export function withKeys(metadata: JsonObject | undefined, keys: Members): JsonObject | undefined {
  const added = Object.entries(keys).filter((entry): entry is [string, Json] => entry[1] !== undefined)
  return added.length === 0 ? metadata : { ...metadata, ...Object.fromEntries(added) }
}

function nonEmptyString(value: Json | undefined): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** Objects are never wrapped: if the value is an object, another writer set the mark. */
function isWrapper(data: JsonObject): data is { readonly value: Json } {
  return Object.keys(data).length === 1 && data.value !== undefined && !isObject(data.value)
}
