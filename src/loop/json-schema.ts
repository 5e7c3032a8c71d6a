import type { JsonObject } from '../protocol/model.ts'
import type { Tool } from './tool.ts'

/**
 * What a tool takes, for the model: as given, or as the library tells it (Standard JSON Schema: zod, arktype), or as
 * the schema itself if it is one (typebox). Where nobody can tell, any object.
 */
export function inputJsonSchema({ input, inputJsonSchema: given }: Tool): JsonObject {
  return given ?? (isJsonSchema(input) ? input : toldBy(input['~standard'])) ?? { type: 'object' }
}

function toldBy(standard: object): JsonObject | undefined {
  if (!('jsonSchema' in standard) || typeof standard.jsonSchema !== 'object' || !standard.jsonSchema) return undefined
  const { jsonSchema } = standard
  if (!('input' in jsonSchema) || typeof jsonSchema.input !== 'function') return undefined
  return jsonSchema.input({ target: 'draft-07' })
}

function isJsonSchema(value: object): value is JsonObject {
  return 'type' in value && value.type === 'object' && 'properties' in value
}
