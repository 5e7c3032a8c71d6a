import type { Arbitrary } from 'fast-check'
import type { Json, JsonObject } from '../../../src/base/json.ts'
import { isObject } from '../../../src/base/json.ts'
import { jsonSchemaOf } from '../../../src/schema/json-schema.ts'
import type { Schema } from '../../../src/schema/schema.ts'
import { objectsOfJsonSchema } from '../../support/schema/arbitrary-of.ts'

/** Valid objects of the schema, some of them with the metadata that dialects use for fields they lack. */
export function wireValuesOf(schema: Pick<Schema<unknown>, 'node'>): Arbitrary<JsonObject> {
  return wireValuesOfJsonSchema(jsonSchemaOf(schema))
}

export function wireValuesOfJsonSchema(schema: JsonObject): Arbitrary<JsonObject> {
  return objectsOfJsonSchema(withLentKeys(schema) as JsonObject)
}

const anyObject: JsonObject = { type: 'object' }

/** Some of it is what a dialect would put there, some is not quite. */
const lentKeys = objectOf({
  data_part_compat: [true, 'x'],
  'a2a.mediaType': ['text/markdown', '', 7],
  'a2a.filename': ['x.md', '', null],
  'a2a.state': ['TASK_STATE_REJECTED', 'TASK_STATE_AUTH_REQUIRED', 'x'],
  'a2a.referenceTaskIds': [['t'], [], 't'],
  k: [1],
})

/** As of data that is no object. */
const wrapped = objectOf({ value: [7, null, [], {}], k: [1] })

/** As of a part of another kind, and what data is labelled with that is one. */
const unknownPart = objectOf({ kind: ['tool-use', 'text', 7], toolUseId: ['u'], name: ['n'] })
const unknownLabel = objectOf({ 'a2a.mediaType': ['application/vnd.a2a.unknown-part+json'], k: [1] })

function objectOf(members: Readonly<Record<string, readonly Json[]>>): JsonObject {
  const properties = Object.entries(members).map(([name, values]) => [name, { enum: values }])
  return { ...anyObject, properties: Object.fromEntries(properties), required: [] }
}

function withLentKeys(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(withLentKeys)
  if (!isObject(schema)) return schema
  if (JSON.stringify(schema) === JSON.stringify(anyObject))
    return { oneOf: [anyObject, lentKeys, wrapped, unknownPart, unknownLabel] }
  return Object.fromEntries(Object.entries(schema).map(([name, value]) => [name, withLentKeys(value)]))
}
