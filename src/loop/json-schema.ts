import { jsonSchemaOf } from '../agent/json-schema.ts'
import type { JsonObject } from '../protocol/model.ts'
import type { Tool } from './tool.ts'

/** What a tool takes, for the model: as given, or as its schema tells. Where nobody can tell, any object. */
export function inputJsonSchema({ input, inputJsonSchema: given }: Tool): JsonObject {
  return given ?? jsonSchemaOf(input, 'input', 'draft-07') ?? { type: 'object' }
}
