import fc, { type Arbitrary } from 'fast-check'
import type { Json, JsonObject } from '../../../src/core/base/json.ts'
import { jsonSchemaOf } from '../../../src/core/schema/json-schema.ts'
import type { Schema } from '../../../src/core/schema/schema.ts'

/** Valid wire values of a schema, in the spelling that our encoder writes and without implicit defaults. */
export function arbitraryOf(schema: Pick<Schema<unknown>, 'node'>): Arbitrary<Json> {
  return valuesOf(jsonSchemaOf(schema) as JsonSchema)
}

/** `arbitraryOf` for an object schema. */
export function arbitraryObjectOf(schema: Pick<Schema<unknown>, 'node'>): Arbitrary<JsonObject> {
  return objectsOfJsonSchema(jsonSchemaOf(schema))
}

export function objectsOfJsonSchema(schema: JsonObject): Arbitrary<JsonObject> {
  return valuesOf(schema as JsonSchema) as Arbitrary<JsonObject>
}

/** The keywords that `jsonSchemaOf` uses. */
interface JsonSchema {
  readonly type?: 'string' | 'boolean' | 'integer' | 'array' | 'object'
  readonly const?: Json
  readonly enum?: readonly Json[]
  readonly default?: Json
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: 'date-time'
  readonly contentEncoding?: 'base64'
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: JsonSchema
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: JsonSchema | false
  /** Alternative values; or, next to `properties`, alternative sets of present members. */
  readonly oneOf?: readonly JsonSchema[]
}

function valuesOf(schema: JsonSchema): Arbitrary<Json> {
  if (schema.const !== undefined) return fc.constant(schema.const)
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum)
  if (schema.oneOf !== undefined && schema.properties === undefined) return fc.oneof(...schema.oneOf.map(valuesOf))
  if (schema.default === undefined) return valuesOfType(schema)
  const unsaid = JSON.stringify(schema.default)
  return valuesOfType(schema).filter((value) => JSON.stringify(value) !== unsaid)
}

function valuesOfType(schema: JsonSchema): Arbitrary<Json> {
  switch (schema.type) {
    case undefined:
      return fc.jsonValue({ maxDepth: 2 }) as Arbitrary<Json>
    case 'string':
      return textsOf(schema)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: schema.minimum, max: schema.maximum })
    case 'array':
      return listsOf(schema)
    case 'object':
      return objectsOf(schema)
  }
}

function textsOf({ format, contentEncoding, pattern = '', minLength, maxLength }: JsonSchema): Arbitrary<string> {
  if (contentEncoding === 'base64') return fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64'))
  if (format === 'date-time') return moments.map((moment) => moment.toISOString())
  const form = new RegExp(pattern, 'u')
  return fc.string({ unit: 'grapheme', minLength, maxLength }).filter((text) => form.test(text))
}

/** The years that RFC 3339 can write, with a bias to the timestamp that stands for an unknown one. */
const moments = fc.oneof(
  { arbitrary: fc.constant(new Date(0)), weight: 1 },
  {
    arbitrary: fc.date({
      min: new Date('0000-01-01T00:00:00.000Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    }),
    weight: 9,
  },
)

/** Short lists, because they nest. */
function listsOf({ items = {}, minItems = 0, maxItems = Infinity }: JsonSchema): Arbitrary<Json> {
  return fc.array(valuesOf(items), { minLength: minItems, maxLength: Math.min(minItems + 2, maxItems) })
}

function objectsOf(schema: JsonSchema): Arbitrary<JsonObject> {
  const { properties, required = [], additionalProperties = {}, oneOf = [] } = schema
  if (properties === undefined) return fc.dictionary(fc.string(), valuesOf(additionalProperties || {}), { maxKeys: 3 })
  const choices = oneOf.map((choice) => choice.required ?? [])
  const fixed = Object.keys(properties).filter((name) => !choices.flat().includes(name))
  const withChoice = (chosen: readonly string[]): Arbitrary<JsonObject> => {
    const members = [...fixed, ...chosen].map((name) => [name, valuesOf(properties[name] ?? {})] as const)
    return fc.record(Object.fromEntries(members), { requiredKeys: [...required, ...chosen] })
  }
  return choices.length === 0 ? withChoice([]) : fc.oneof(...choices.map(withChoice))
}
