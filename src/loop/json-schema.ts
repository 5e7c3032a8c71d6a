import { jsonSchemaOf } from '../agent/json-schema.ts'
import type { JsonObject } from '../protocol/model.ts'
import type { Tool } from './tool.ts'

/** Every message asks for them again, and libraries take their time to tell. */
const told = new WeakMap<Tool, JsonObject>()

/** What a tool takes, for the model: as given, or as its schema tells. Where nobody can tell, any object. */
export function inputJsonSchema(tool: Tool): JsonObject {
  const known = tool.inputJsonSchema ?? told.get(tool)
  if (known) return known
  const schema = jsonSchemaOf(tool.input, 'input', 'draft-07') ?? { type: 'object' }
  told.set(tool, schema)
  return schema
}
