import { defined, type Json, type JsonObject } from '../base/json.ts'
import type { Length, Member, Schema, SchemaNode, Variants } from './schema.ts'

/** The JSON Schema (draft-07) of the values that we write. */
export function jsonSchemaOf({ node }: Pick<Schema<unknown>, 'node'>): JsonObject {
  const { title, description, default: fallback } = node
  return { ...defined({ title, description }), ...keywordsOf(node), ...defined({ default: fallback }) }
}

function keywordsOf(node: SchemaNode): JsonObject {
  switch (node.is) {
    case 'string': {
      const { pattern, format } = node
      return {
        type: 'string',
        ...limits(node, 'minLength', 'maxLength'),
        ...defined({
          // In Python, `$` also matches before a final line break.
          pattern: pattern === undefined ? undefined : `${pattern}(?!\\n)`,
          format,
        }),
      }
    }
    case 'boolean':
      return node.only === undefined ? { type: 'boolean' } : { const: node.only }
    case 'object':
    case 'null':
      return { type: node.is }
    case 'json':
      return {}
    case 'base64':
      return { type: 'string', contentEncoding: 'base64' }
    case 'timestamp':
      return { type: 'string', format: 'date-time' }
    case 'integer':
    case 'number':
      return defined({ type: node.is, minimum: node.min, maximum: node.max < Infinity ? node.max : undefined })
    case 'enum':
      return node.values.length === 1 ? { const: node.values[0] ?? '' } : { type: 'string', enum: [...node.values] }
    case 'list':
      return { type: 'array', items: jsonSchemaOf(node.item), ...limits(node, 'minItems', 'maxItems') }
    case 'map':
      return { type: 'object', additionalProperties: jsonSchemaOf(node.item) }
    case 'members':
      return membersSchema(node.members, node.choices, node.open)
    case 'nullable':
      return { anyOf: [jsonSchemaOf(node.of), { type: 'null' }] }
    case 'any':
      return { oneOf: node.of.map(jsonSchemaOf) }
    case 'tagged':
      return taggedSchema(node.tag, node.variants)
    case 'union':
      return { type: 'object', oneOf: Object.values(node.variants).map(jsonSchemaOf) }
    case 'exclusive': {
      const each = node.names.map((name) => ({ required: [name] }))
      return { ...jsonSchemaOf(node.of), oneOf: [...each, { not: { anyOf: each } }] }
    }
  }
}

function limits({ min = 0, max = Infinity }: Length, minName: string, maxName: string): JsonObject {
  return defined({ [minName]: min > 0 ? min : undefined, [maxName]: max < Infinity ? max : undefined })
}

function membersSchema(members: readonly Member[], choices: readonly Member[], open: boolean): JsonObject {
  const required = members.filter(({ isUnset }) => isUnset === undefined).map(({ name }) => name)
  return defined({
    type: 'object',
    properties: Object.fromEntries([...members, ...choices].map((member) => [member.name, memberSchema(member)])),
    required: required.length > 0 ? required : undefined,
    oneOf: choices.length > 0 ? choices.map(({ name }) => ({ required: [name] })) : undefined,
    additionalProperties: open ? undefined : false,
  })
}

function memberSchema({ schema, isImplicit }: Member): JsonObject {
  const described = jsonSchemaOf(schema)
  const unset = isImplicit && schema.node.is !== 'enum' ? implicitDefaults.get(described.type) : undefined
  return unset === undefined ? described : { ...described, default: unset }
}

/** The values of proto3 fields that are not set. */
const implicitDefaults: ReadonlyMap<Json | undefined, Json> = new Map<Json, Json>([
  ['string', ''],
  ['boolean', false],
  ['integer', 0],
  ['array', []],
])

function taggedSchema(tag: string, variants: Variants): JsonObject {
  const all = Object.entries(variants).map(([name, schema]) => withTag(tag, name, jsonSchemaOf(schema)))
  const [only] = all
  return only && all.length === 1 ? only : { oneOf: all }
}

function withTag(tag: string, name: string, schema: JsonObject): JsonObject {
  const { properties, required = [] } = schema as { readonly properties: JsonObject; readonly required?: Json[] }
  return { ...schema, properties: { [tag]: { const: name }, ...properties }, required: [tag, ...required] }
}
