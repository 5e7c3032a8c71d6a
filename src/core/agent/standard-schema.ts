import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../base/json.ts'

export type SchemaSide = 'input' | 'output'

/** The JSON Schema versions that schema libraries are asked for: the newest, and the one that models know best. */
export type SchemaTarget = 'draft-2020-12' | 'draft-07'

/**
 * Converts a schema to JSON Schema: by its library (Standard JSON Schema: zod, arktype), or as it is if it is a JSON
 * Schema itself (typebox). Returns undefined if neither applies.
 */
export function jsonSchemaOf(schema: StandardSchemaV1, side: SchemaSide, target: SchemaTarget): JsonObject | undefined {
  return isJsonSchema(schema) ? schema : convert(schema['~standard'], side, target)
}

/** Throws unless the value is a Standard Schema, so that a wrong one fails at start and not with the first value. */
export function requireSchema(where: string, schema: StandardSchemaV1): void {
  const standard: unknown =
    typeof schema === 'object' || typeof schema === 'function' ? schema?.['~standard'] : undefined
  const validate = typeof standard === 'object' && standard && 'validate' in standard ? standard.validate : undefined
  if (typeof validate === 'function') return
  throw new TypeError(
    `${where}: expected a schema of Standard Schema, as zod, valibot and arktype have them. One of TypeBox becomes one by typeBoxSchema(Compile(…)).`,
  )
}

export function describeIssues(issues: readonly StandardSchemaV1.Issue[]): string {
  return issues.map(describeIssue).join('; ') || 'it does not fit'
}

/** The path of an issue, as in `.items[0].name`. */
export function issuePath({ path = [] }: StandardSchemaV1.Issue): string {
  return path
    .map(keyOf)
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`))
    .join('')
}

/** The values that a text may stand for: the text itself, and the value that it encodes if it is JSON. */
export function textCandidates(text: string): readonly unknown[] {
  try {
    return [text, JSON.parse(text)]
  } catch {
    return [text]
  }
}

/** The part of `Compile(…)` of `typebox/compile` that is needed. */
export interface TypeBoxValidator<T> {
  Check(value: unknown): value is T
  Errors(value: unknown): readonly { readonly message: string; readonly instancePath: string }[]
  /** The compiled schema. */
  Type(): object
}

/** Converts a compiled TypeBox schema to a Standard Schema. It is its own JSON Schema as well. */
export function typeBoxSchema<T>(validator: TypeBoxValidator<T>): StandardSchemaV1<T> {
  return {
    ...validator.Type(),
    '~standard': {
      version: 1,
      vendor: 'typebox',
      validate: (value) =>
        validator.Check(value)
          ? { value }
          : {
              issues: validator
                .Errors(value)
                .map(({ message, instancePath }) => ({ message, path: pointerPath(instancePath) })),
            },
    },
  }
}

function isJsonSchema(value: object): value is JsonObject {
  return 'type' in value && value.type === 'object' && 'properties' in value
}

function convert(standard: object, side: SchemaSide, target: SchemaTarget): JsonObject | undefined {
  if (!('jsonSchema' in standard) || typeof standard.jsonSchema !== 'object' || !standard.jsonSchema) return undefined
  const toJsonSchema: unknown = Reflect.get(standard.jsonSchema, side)
  return typeof toJsonSchema === 'function' ? toJsonSchema({ target }) : undefined
}

function describeIssue({ message, path = [] }: StandardSchemaV1.Issue): string {
  const keys = path.map((segment) => String(keyOf(segment))).join('.')
  return keys ? `${keys}: ${message}` : message
}

function keyOf(segment: PropertyKey | StandardSchemaV1.PathSegment): PropertyKey {
  return typeof segment === 'object' ? segment.key : segment
}

/** The keys of a JSON Pointer (RFC 6901). */
function pointerPath(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}
