import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../base/json.ts'

export type SchemaSide = 'input' | 'output'

/** The versions of JSON Schema that libraries are asked for: the newest, and the one that models know best. */
export type SchemaTarget = 'draft-2020-12' | 'draft-07'

/**
 * A schema as JSON Schema: as the library tells it (Standard JSON Schema: zod, arktype), or as the schema itself if it
 * is one (typebox). Undefined where nobody can tell.
 */
export function jsonSchemaOf(schema: StandardSchemaV1, side: SchemaSide, target: SchemaTarget): JsonObject | undefined {
  return isJsonSchema(schema) ? schema : toldBy(schema['~standard'], side, target)
}

/** Throws unless it is a schema of the standard: otherwise the first value to be checked would find out. */
export function requireSchema(where: string, schema: StandardSchemaV1): void {
  const standard: unknown =
    typeof schema === 'object' || typeof schema === 'function' ? schema?.['~standard'] : undefined
  const validate = typeof standard === 'object' && standard && 'validate' in standard ? standard.validate : undefined
  if (typeof validate === 'function') return
  throw new TypeError(
    `${where}: expected a schema of Standard Schema, as zod, valibot and arktype have them. One of TypeBox becomes one by typeBoxSchema(Compile(…)).`,
  )
}

/** What `Compile(…)` of `typebox/compile` gives, as far as it is needed. */
export interface TypeBoxValidator<T> {
  Check(value: unknown): value is T
  Errors(value: unknown): readonly { readonly message: string; readonly instancePath: string }[]
  /** The schema that was compiled. */
  Type(): object
}

/** A schema of TypeBox as one of Standard Schema, which it is not by itself. It is its own JSON Schema, too. */
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
                .map(({ message, instancePath }) => ({ message, path: pathOf(instancePath) })),
            },
    },
  }
}

function isJsonSchema(value: object): value is JsonObject {
  return 'type' in value && value.type === 'object' && 'properties' in value
}

function toldBy(standard: object, side: SchemaSide, target: SchemaTarget): JsonObject | undefined {
  if (!('jsonSchema' in standard) || typeof standard.jsonSchema !== 'object' || !standard.jsonSchema) return undefined
  const told: unknown = Reflect.get(standard.jsonSchema, side)
  return typeof told === 'function' ? told({ target }) : undefined
}

/** Of a JSON Pointer (RFC 6901). */
function pathOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}
