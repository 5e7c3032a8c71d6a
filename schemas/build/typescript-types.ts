import { isSchema, type Schema } from './base.ts'
import { meshSchemas } from './mesh-schemas.ts'

/** `types.ts`, generated from the newest schema version. */
export function typescriptTypes(): string {
  const files = [...meshSchemas('1.1.0').entries()]
  const types = files.flatMap(([file, schema]) => {
    const definitions = Object.entries((schema.definitions ?? {}) as Record<string, Schema>)
    return [
      ...definitions.map(([name, each]) => declare(name, each)),
      file === 'base-message.json' ? declare('BaseMessage', schema) : message(schema),
    ]
  })
  return `/** Made by schemas/build from the JSON Schemas of version 1.1.0: do not edit. */\n\n${types.join('\n\n')}\n`
}

function message(schema: Schema): string {
  const [, own] = schema.allOf as readonly Schema[]
  const members = (own?.properties ?? {}) as Record<string, Schema>
  const required = [...((own?.required ?? []) as readonly string[]), 'message_type']
  const body = Object.entries(members)
    .map(([name, each]) => member(name, each, required))
    .join('\n')
  return `${about(schema)}\nexport interface Mesh${schema.title} extends MeshBaseMessage {\n${body}\n}`
}

function declare(name: string, schema: Schema): string {
  // In contrast to an interface, an alias is assignable to an index signature.
  const start = name === 'BaseMessage' ? `interface Mesh${name}` : `type Mesh${name} =`
  return `${about(schema)}\nexport ${start} ${typeOf(schema)}`
}

function about({ description }: Schema): string {
  return `/** ${description} */`
}

function typeOf(schema: Schema): string {
  const { $ref, const: only, enum: words, oneOf, anyOf, type } = schema
  if (typeof $ref === 'string') return `Mesh${$ref.slice($ref.lastIndexOf('/') + 1)}`
  if (only !== undefined) return literal(only)
  if (Array.isArray(words)) return words.map(literal).join(' | ')
  const options = oneOf ?? anyOf
  if (Array.isArray(options)) return options.map(typeOf).join(' | ')
  if (type === 'array') return `${typeOf(schema.items as Schema)}[]`
  if (type === 'object') return objectOf(schema)
  return type === 'integer' ? 'number' : String(type)
}

function objectOf({ properties, required = [], additionalProperties }: Schema): string {
  if (!isSchema(properties)) return 'Record<string, any>'
  const members = Object.entries(properties).map(([name, each]) =>
    member(name, each as Schema, required as readonly string[]),
  )
  if (additionalProperties !== false) members.push('  [member: string]: any')
  return `{\n${members.join('\n')}\n}`
}

function member(name: string, schema: Schema, required: readonly string[]): string {
  return `  ${about(schema)}\n  ${name}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value}'` : String(value)
}
