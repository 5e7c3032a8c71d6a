import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { JsonObject } from '../protocol/model.ts'

export type Side = 'input' | 'output'

/** The versions of JSON Schema that libraries are asked for: the newest, and the one that models know best. */
export type Target = 'draft-2020-12' | 'draft-07'

/**
 * A schema as JSON Schema: as the library tells it (Standard JSON Schema: zod, arktype), or as the schema itself if it
 * is one (typebox). Undefined where nobody can tell.
 */
export function jsonSchemaOf(schema: StandardSchemaV1, side: Side, target: Target): JsonObject | undefined {
  return isJsonSchema(schema) ? schema : toldBy(schema['~standard'], side, target)
}

function toldBy(standard: object, side: Side, target: Target): JsonObject | undefined {
  if (!('jsonSchema' in standard) || typeof standard.jsonSchema !== 'object' || !standard.jsonSchema) return undefined
  const told: unknown = Reflect.get(standard.jsonSchema, side)
  return typeof told === 'function' ? told({ target }) : undefined
}

function isJsonSchema(value: object): value is JsonObject {
  return 'type' in value && value.type === 'object' && 'properties' in value
}
