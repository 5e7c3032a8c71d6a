import type { Json, JsonObject } from 'parley-a2a/client'

/** How deep a schema is shown as a form. Below, values are edited as JSON. */
const maxDepth = 6

/** More choices than this are shown as a list to open. */
export const maxButtons = 6

/** The part of a JSON Schema that a form can show. Everything else is edited as JSON. */
export type FieldSchema = (
  | { readonly kind: 'object'; readonly fields: readonly ObjectField[] }
  | { readonly kind: 'array'; readonly item: FieldSchema; readonly min: number; readonly max: number }
  | { readonly kind: 'choice'; readonly choices: readonly Choice[] }
  | { readonly kind: 'boolean' }
  | NumberField
  | TextField
  | { readonly kind: 'json' }
) & { readonly title?: string; readonly description?: string; readonly initial?: Json }

interface NumberField {
  readonly kind: 'number'
  readonly isInteger: boolean
  readonly min: number | undefined
  readonly max: number | undefined
}

interface TextField {
  readonly kind: 'text'
  readonly input: 'text' | 'multiline' | 'date' | 'datetime-local' | 'time' | 'email' | 'url' | 'password'
  readonly minLength: number
  readonly maxLength: number
  readonly pattern: string | undefined
}

export interface ObjectField {
  readonly name: string
  readonly schema: FieldSchema
  readonly isRequired: boolean
}

export interface Choice {
  readonly value: Json
  readonly label: string
}

/** Reads a JSON Schema, which may come from a hostile agent: what it does not understand becomes a JSON field. */
export function readSchema(schema: JsonObject): FieldSchema {
  return read(schema, schema, 0)
}

/** The schema of a secret: its texts are not shown while a person types them. */
export function hideTexts(schema: FieldSchema): FieldSchema {
  switch (schema.kind) {
    case 'text':
      return { ...schema, input: 'password' }
    case 'object':
      return { ...schema, fields: schema.fields.map((field) => ({ ...field, schema: hideTexts(field.schema) })) }
    case 'array':
      return { ...schema, item: hideTexts(schema.item) }
    case 'choice':
    case 'boolean':
    case 'number':
    case 'json':
      return schema
  }
}

function read(input: Json | undefined, root: JsonObject, depth: number): FieldSchema {
  const schema = resolve(input, root)
  if (!schema || depth > maxDepth) return { kind: 'json' }
  const { title, description } = schema
  return {
    ...readKind(schema, root, depth),
    ...(typeof title === 'string' && { title }),
    ...(typeof description === 'string' && { description }),
    ...(schema.default !== undefined && { initial: schema.default }),
  }
}

function readKind(schema: JsonObject, root: JsonObject, depth: number): FieldSchema {
  const choices = choicesOf(schema)
  if (choices) return { kind: 'choice', choices }
  const only = withoutNull(schema)
  if (only) return read({ ...only, ...annotationsOf(schema) }, root, depth + 1)
  switch (typeOf(schema)) {
    case 'object':
      return readObject(schema, root, depth)
    case 'array': {
      const item = read(schema.items, root, depth + 1)
      return { kind: 'array', item, min: numberOf(schema.minItems) ?? 0, max: numberOf(schema.maxItems) ?? 100 }
    }
    case 'boolean':
      return { kind: 'boolean' }
    case 'number':
      return readNumber(schema, false)
    case 'integer':
      return readNumber(schema, true)
    case 'string':
      return readText(schema)
    default:
      return { kind: 'json' }
  }
}

function readObject({ properties, required }: JsonObject, root: JsonObject, depth: number): FieldSchema {
  if (!isObject(properties)) return { kind: 'json' }
  const names = Array.isArray(required) ? required : []
  const fields = Object.entries(properties)
    .slice(0, 100)
    .map(([name, member]) => ({ name, schema: read(member, root, depth + 1), isRequired: names.includes(name) }))
  return { kind: 'object', fields }
}

function readNumber({ minimum, maximum }: JsonObject, isInteger: boolean): FieldSchema {
  return { kind: 'number', isInteger, min: numberOf(minimum), max: numberOf(maximum) }
}

function readText({ format, minLength, maxLength, pattern }: JsonObject): FieldSchema {
  const max = numberOf(maxLength) ?? Number.POSITIVE_INFINITY
  const input = inputs[`${format}`] ?? (Number.isFinite(max) && max > 200 ? 'multiline' : 'text')
  return {
    kind: 'text',
    input,
    minLength: numberOf(minLength) ?? 0,
    maxLength: max,
    pattern: typeof pattern === 'string' && pattern.length < 200 ? pattern : undefined,
  }
}

const inputs: Readonly<Record<string, TextField['input']>> = {
  date: 'date',
  'date-time': 'datetime-local',
  time: 'time',
  email: 'email',
  uri: 'url',
  multiline: 'multiline',
  password: 'password',
}

function choicesOf(schema: JsonObject): readonly Choice[] | undefined {
  if (Array.isArray(schema.enum))
    return schema.enum.slice(0, 500).map((value: Json) => ({ value, label: labelOf(value) }))
  if (schema.const !== undefined) return [{ value: schema.const, label: labelOf(schema.const) }]
  const variants = schema.oneOf ?? schema.anyOf
  if (!Array.isArray(variants) || variants.length === 0) return undefined
  const constants = variants.filter((variant: Json) => isObject(variant) && variant.const !== undefined) as JsonObject[]
  if (constants.length !== variants.length) return undefined
  return constants.map(({ const: value = null, title }) => ({
    value,
    label: typeof title === 'string' ? title : labelOf(value),
  }))
}

function labelOf(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The other variant of a schema that also accepts null. */
function withoutNull(schema: JsonObject): JsonObject | undefined {
  const variants = schema.anyOf ?? schema.oneOf
  if (!Array.isArray(variants)) return undefined
  const others = variants.filter((variant: Json) => !isObject(variant) || variant.type !== 'null')
  return others.length === 1 && isObject(others[0]) ? others[0] : undefined
}

function annotationsOf({ title, description, default: initial }: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries({ title, description, default: initial }).filter(([, value]) => value !== undefined),
  ) as JsonObject
}

function typeOf({ type, properties, items }: JsonObject): string | undefined {
  if (typeof type === 'string') return type
  if (Array.isArray(type)) return type.find((name) => typeof name === 'string' && name !== 'null') as string | undefined
  if (properties !== undefined) return 'object'
  return items === undefined ? undefined : 'array'
}

/** Follows references within the schema. */
function resolve(input: Json | undefined, root: JsonObject): JsonObject | undefined {
  let current = input
  for (let step = 0; step < 10; step++) {
    if (!isObject(current)) return undefined
    if (typeof current.$ref !== 'string') return current
    current = lookUp(current.$ref, root)
  }
  return undefined
}

function lookUp(reference: string, root: JsonObject): Json | undefined {
  if (!reference.startsWith('#/')) return undefined
  let current: Json | undefined = root
  for (const name of reference.slice(2).split('/')) {
    const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
    if (!isObject(current) || !Object.hasOwn(current, key)) return undefined
    current = current[key]
  }
  return current
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function numberOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}
