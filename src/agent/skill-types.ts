import { isList, isObject, type Json, type JsonObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import { readSkillSchemas } from '../protocol/extensions/typed-skills.ts'

/** How deep a schema is followed, and how far in all: those that contain themselves have no end. */
const maxDepth = 12

const maxTypes = 2_000

export interface SkillTypesOptions {
  /** Of the type. That of the agent, with `Skills` behind it, by default. */
  readonly name?: string
}

/** Writes what the skills of a card take and give as TypeScript, for `connect<ThatType>(…)`. */
export function skillTypesOf(
  card: Pick<AgentCard, 'name' | 'skills' | 'capabilities'>,
  { name = `${pascal(card.name)}Skills` }: SkillTypesOptions = {},
): string {
  if (!/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name)) {
    throw new TypeError(`skillTypesOf(): expected the name of a type, got ${JSON.stringify(name)}`)
  }
  const schemas = readSkillSchemas(card)
  const lines = card.skills.flatMap(({ id, description }) => {
    const { input, output } = schemas.get(id) ?? {}
    return [
      ...(description ? [`  /** ${description.replaceAll('*/', '*\\/').replace(/\s+/g, ' ')} */`] : []),
      `  readonly ${JSON.stringify(id)}: {`,
      `    readonly input: ${input ? typeOf(input, input) : 'string'}`,
      `    readonly output: ${output ? typeOf(output, output) : 'string'}`,
      '  }',
    ]
  })
  return [
    `/** What the skills of ${JSON.stringify(card.name).replaceAll('*/', '*\\/')} take and give, as its card says. */`,
    `export type ${name} = {`,
    ...lines,
    '}',
    '',
  ].join('\n')
}

function pascal(name: string): string {
  const words = name.match(/[\p{L}\p{N}]+/gu) ?? []
  const joined = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
  return /^\p{L}/u.test(joined) ? joined : `Agent${joined}`
}

function typeOf(schema: Json | undefined, root: JsonObject, depth = 0, made = { types: 0 }): string {
  if (schema === false) return 'never'
  if (!isObject(schema) || depth > maxDepth || ++made.types > maxTypes) return 'unknown'
  const inner = (each: Json | undefined) => typeOf(each, root, depth + 1, made)
  if (typeof schema.$ref === 'string') return inner(resolve(schema.$ref, root))
  if ('const' in schema) return literal(schema.const)
  if (isList(schema.enum)) return union(schema.enum.map(literal))
  const choices = schema.anyOf ?? schema.oneOf
  if (isList(choices)) return union(choices.map(inner))
  if (isList(schema.allOf)) return schema.allOf.map((each) => `(${inner(each)})`).join(' & ') || 'unknown'
  const { type } = schema
  if (isList(type)) return union(type.map((each) => inner({ ...schema, type: each })))
  switch (type) {
    case 'string':
      return 'string'
    case 'number':
    case 'integer':
      return 'number'
    case 'boolean':
      return 'boolean'
    case 'null':
      return 'null'
    case 'array':
      return arrayOf(schema, inner)
    case 'object':
      return objectOf(schema, inner)
    default:
      return isObject(schema.properties) ? objectOf(schema, inner) : 'unknown'
  }
}

/** References within the schema alone. */
function resolve(reference: string, root: JsonObject): Json | undefined {
  if (!reference.startsWith('#')) return undefined
  const path = reference.split('/').slice(1)
  return path.reduce<Json | undefined>((at, segment) => {
    const key = decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    return isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }, root)
}

function literal(value: Json | undefined): string {
  return typeof value === 'object' && value !== null ? 'unknown' : JSON.stringify(value ?? null)
}

function union(types: readonly string[]): string {
  return [...new Set(types)].map((each) => (each.includes(' ') ? `(${each})` : each)).join(' | ') || 'never'
}

function arrayOf({ items, prefixItems }: JsonObject, inner: Inner): string {
  if (!isList(prefixItems)) return `readonly (${inner(items)})[]`
  const rest = items === false || items === undefined ? [] : [`...(${inner(items)})[]`]
  return `readonly [${[...prefixItems.map(inner), ...rest].join(', ')}]`
}

type Inner = (schema: Json | undefined) => string

function objectOf({ properties, required, additionalProperties: others }: JsonObject, inner: Inner): string {
  const members = isObject(properties) ? Object.entries(properties) : []
  const needed: readonly Json[] = isList(required) ? required : []
  const told = members.map(
    ([key, each]) => `readonly ${JSON.stringify(key)}${needed.includes(key) ? '' : '?'}: ${inner(each)}`,
  )
  if (told.length > 0) return `{ ${told.join('; ')} }`
  return isObject(others) ? `{ readonly [key: string]: ${inner(others)} }` : '{ readonly [key: string]: unknown }'
}
