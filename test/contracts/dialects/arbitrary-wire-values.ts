import fc, { type Arbitrary } from 'fast-check'
import { isObject, type Json, type JsonObject } from '../../../src/core/base/json.ts'
import { jsonSchemaOf } from '../../../src/core/schema/json-schema.ts'
import type { Schema } from '../../../src/core/schema/schema.ts'
import { objectsOfJsonSchema } from '../../support/schema/arbitrary-of.ts'

/** Valid objects of a schema, some with the metadata keys that dialects use for members they lack. */
export function arbitraryWireValues(schema: Pick<Schema<unknown>, 'node'>): Arbitrary<JsonObject> {
  return arbitraryWireValuesOfJsonSchema(jsonSchemaOf(schema))
}

export function arbitraryWireValuesOfJsonSchema(schema: JsonObject): Arbitrary<JsonObject> {
  return objectsOfJsonSchema(withCompatObjects(schema) as JsonObject)
}

/** Adds security schemes of unknown types to some of the cards. */
export function withUnknownSchemes(
  cards: Arbitrary<JsonObject>,
  unknownSchemes: readonly JsonObject[],
): Arbitrary<JsonObject> {
  const schemes = fc.dictionary(fc.constantFrom('strange', 'odd', 'a'), fc.constantFrom(...unknownSchemes))
  return fc.tuple(cards, schemes).map(([card, added]) => {
    const { securitySchemes = {} } = card
    if (Object.keys(added).length === 0 || !isObject(securitySchemes)) return card
    return { ...card, securitySchemes: { ...securitySchemes, ...added } }
  })
}

const anyObject: JsonObject = { type: 'object' }

/** Metadata with valid and invalid values of the keys that dialects use for members they lack. */
const compatMetadata = objectOf({
  data_part_compat: [true, 'x'],
  'a2a.mediaType': ['text/markdown', '', 7],
  'a2a.filename': ['x.md', '', null],
  'a2a.state': ['TASK_STATE_REJECTED', 'TASK_STATE_AUTH_REQUIRED', 'x'],
  'a2a.referenceTaskIds': [['t'], [], 't'],
  k: [1],
})

/** Data that resembles wrapped data. */
const wrappedData = objectOf({ value: [7, null, [], {}], k: [1] })

/** Data that resembles a part of an unknown kind, and the metadata of such a part. */
const unknownPart = objectOf({ kind: ['tool-use', 'text', 7], toolUseId: ['u'], name: ['n'] })
const unknownPartMetadata = objectOf({ 'a2a.mediaType': ['application/vnd.a2a.unknown-part+json'], k: [1] })

function objectOf(members: Readonly<Record<string, readonly Json[]>>): JsonObject {
  const properties = Object.entries(members).map(([name, values]) => [name, { enum: values }])
  return { ...anyObject, properties: Object.fromEntries(properties), required: [] }
}

/** Lets every object without a schema also be one of the above. */
function withCompatObjects(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withCompatObjects)
  if (!isObject(schema)) return schema
  if (JSON.stringify(schema) === JSON.stringify(anyObject)) {
    return { oneOf: [anyObject, compatMetadata, wrappedData, unknownPart, unknownPartMetadata] }
  }
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, withCompatObjects(value)]))
}
