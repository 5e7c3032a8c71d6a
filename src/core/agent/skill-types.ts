import { isList, isObject, type Json, type JsonObject } from '../base/json.ts'
import { checkOptions, text } from '../base/options.ts'
import type { AgentCard } from '../protocol/card.ts'
import { readSkillSchemas } from '../protocol/extensions/typed-skills.ts'

/** Recursive schemas have no end: limits for the depth and the number of types. */
const maxDepth = 12

const maxTypes = 2_000

export interface SkillTypesOptions {
  /** The name of the type. Defaults to the name of the agent and `Skills`. */
  readonly name?: string
}

/** Generates the TypeScript type of an agent's skills from its card, for `connect<ThatType>(…)`. */
export function skillTypesOf(
  card: Pick<AgentCard, 'name' | 'skills' | 'capabilities'>,
  options: SkillTypesOptions = {},
): string {
  checkOptions('skillTypesOf', options, { name: text })
  const { name = `${pascal(card.name)}Skills` } = options
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

function typeOf(schema: Json | undefined, root: JsonObject, depth = 0, count = { types: 0 }): string {
  if (schema === false) return 'never'
  if (!isObject(schema) || depth > maxDepth || ++count.types > maxTypes) return 'unknown'
  const inner = (member: Json | undefined) => typeOf(member, root, depth + 1, count)
  if (typeof schema.$ref === 'string') return inner(resolve(schema.$ref, root))
  if ('const' in schema) return literal(schema.const)
  if (isList(schema.enum)) return union(schema.enum.map(literal))
  const choices = schema.anyOf ?? schema.oneOf
  if (isList(choices)) return union(choices.map(inner))
  if (isList(schema.allOf)) return schema.allOf.map((member) => `(${inner(member)})`).join(' & ') || 'unknown'
  const { type } = schema
  if (isList(type)) return union(type.map((name) => inner({ ...schema, type: name })))
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

/** Resolves references within the schema. Others are unknown. */
function resolve(reference: string, root: JsonObject): Json | undefined {
  if (!reference.startsWith('#')) return undefined
  const path = reference.split('/').slice(1)
  return path.reduce<Json | undefined>((value, segment) => {
    const key = decodeURIComponent(segment).replaceAll('~1', '/').replaceAll('~0', '~')
    return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }, root)
}

function literal(value: Json | undefined): string {
  return typeof value === 'object' && value !== null ? 'unknown' : JSON.stringify(value ?? null)
}

function union(types: readonly string[]): string {
  return [...new Set(types)].map((type) => (type.includes(' ') ? `(${type})` : type)).join(' | ') || 'never'
}

function arrayOf({ items, prefixItems }: JsonObject, inner: Inner): string {
  if (!isList(prefixItems)) return `readonly (${inner(items)})[]`
  const rest = items === false || items === undefined ? [] : [`...(${inner(items)})[]`]
  return `readonly [${[...prefixItems.map(inner), ...rest].join(', ')}]`
}

type Inner = (schema: Json | undefined) => string

function objectOf({ properties, required, additionalProperties }: JsonObject, inner: Inner): string {
  const members = isObject(properties) ? Object.entries(properties) : []
  const requiredKeys: readonly Json[] = isList(required) ? required : []
  const types = members.map(
    ([key, member]) => `readonly ${JSON.stringify(key)}${requiredKeys.includes(key) ? '' : '?'}: ${inner(member)}`,
  )
  if (types.length > 0) return `{ ${types.join('; ')} }`
  const valueType = isObject(additionalProperties) ? inner(additionalProperties) : 'unknown'
  return `{ readonly [key: string]: ${valueType} }`
}
