import type { Json, JsonObject } from '../../../src/base/json.ts'
import type { Member, Schema } from '../../../src/schema/schema.ts'

/** A shape, or a schema that was made of one. */
export type Described = Pick<Schema<unknown>, 'form'> | { readonly schema: JsonObject }

/** The JSON Schema of what we write in a shape. */
export function schemaOf(described: Described): JsonObject {
  if ('schema' in described) return described.schema
  const { form } = described
  switch (form.is) {
    case 'text': {
      const { min = 0, max, pattern } = form
      return {
        type: 'string',
        ...(min > 0 && { minLength: min }),
        ...(max !== undefined && { maxLength: max }),
        ...(pattern !== undefined && { pattern }),
      }
    }
    case 'boolean':
    case 'object':
      return { type: form.is }
    case 'json':
      return {}
    case 'base64':
      return { type: 'string', contentEncoding: 'base64' }
    case 'time':
      return { type: 'string', format: 'date-time' }
    case 'integer':
      return { type: 'integer', minimum: form.min, maximum: form.max }
    case 'word':
      return { enum: form.words }
    case 'list': {
      const { item, min = 0, max } = form
      const lengths = { ...(min > 0 && { minItems: min }), ...(max !== undefined && { maxItems: max }) }
      return { type: 'array', items: schemaOf(item), ...lengths }
    }
    case 'map':
      return { type: 'object', additionalProperties: schemaOf(form.item) }
    case 'members':
      return schemaOfMembers(form.members, form.choices)
    case 'any':
      return { oneOf: form.of.map(schemaOf) }
    case 'exclusive': {
      const each = form.names.map((name) => ({ required: [name] }))
      return { ...schemaOf(form.of), oneOf: [...each, { not: { anyOf: each } }] }
    }
    case 'tagged': {
      const { tag, variants } = form
      const all = Object.entries(variants).map(([name, shape]) => withTag(tag, name, schemaOf(shape)))
      const [only] = all
      return only && all.length === 1 ? only : { oneOf: all }
    }
  }
}

function schemaOfMembers(members: readonly Member[], choices: readonly Member[]): JsonObject {
  const properties = [...members, ...choices].map((member) => [member.name, schemaOfMember(member)])
  return {
    type: 'object',
    properties: Object.fromEntries(properties),
    required: members.filter(({ isUnset }) => isUnset === undefined).map(({ name }) => name),
    ...(choices.length > 0 && { oneOf: choices.map(({ name }) => ({ required: [name] })) }),
  }
}

function schemaOfMember({ shape, isImplicit }: Member): JsonObject {
  const schema = schemaOf(shape)
  const unsaid = isImplicit ? defaults.get(schema.type) : undefined
  return unsaid === undefined ? schema : { ...schema, default: unsaid }
}

const defaults: ReadonlyMap<Json | undefined, Json> = new Map<Json, Json>([
  ['string', ''],
  ['boolean', false],
  ['integer', 0],
  ['array', []],
])

function withTag(tag: string, name: string, schema: JsonObject): JsonObject {
  const { properties, required } = schema as { readonly properties: JsonObject; readonly required: readonly string[] }
  return { ...schema, properties: { [tag]: { const: name }, ...properties }, required: [tag, ...required] }
}
