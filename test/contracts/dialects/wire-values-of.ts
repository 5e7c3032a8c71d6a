import type { Arbitrary } from 'fast-check'
import type { Json, JsonObject } from '../../../src/base/json.ts'
import { isObject } from '../../../src/base/json.ts'
import { arbitraryObjectOf } from '../../support/schema/arbitrary-of.ts'
import { type Described, schemaOf } from '../../support/schema/schema-of.ts'

/** Valid objects of the shape, also such as have what dialects put into metadata for want of a place. */
export function wireValuesOf(described: Described): Arbitrary<JsonObject> {
  return arbitraryObjectOf({ schema: withLentKeys(schemaOf(described)) as JsonObject })
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
