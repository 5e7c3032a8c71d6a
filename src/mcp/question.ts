import type { ElicitRequestFormParams } from '@modelcontextprotocol/server'
import type { Input } from '../client/input.ts'
import { inputRequestIn, toolResult } from '../protocol/client-tools.ts'
import type { Json, JsonObject, Message } from '../protocol/model.ts'
import { textOf } from '../protocol/parts.ts'

/** What an agent asks, in the words of MCP. */
export interface Question {
  readonly text: string
  /** By which the agent knows the answer again, if it has said so. */
  readonly requestId: string | undefined
  /** What a form has to ask for; undefined for one text. */
  readonly form: RequestedSchema | undefined
  /** Such things are neither for forms of MCP nor for models. */
  readonly isSensitive: boolean
}

type RequestedSchema = ElicitRequestFormParams['requestedSchema']

export function questionIn(message: Message | undefined): Question {
  const { requestId, prompt, sensitive, tool, schema } = inputRequestIn(message) ?? {}
  const said = message ? textOf(message) : ''
  const text = (said || (typeof prompt === 'string' ? prompt : '') || 'The agent needs more input.').slice(0, 10_000)
  return {
    text,
    requestId: typeof requestId === 'string' ? requestId : undefined,
    // The schema of a tool says what the tool takes, and not what it gives.
    form: tool === undefined && isForm(schema) ? schema : undefined,
    isSensitive: sensitive === true,
  }
}

/** A form for one text, where the agent has not said more. */
export const textForm: RequestedSchema = {
  type: 'object',
  properties: { answer: { type: 'string', title: 'Answer' } },
  required: ['answer'],
}

/** What a person, or a model, has answered, as the agent has asked for it. */
export function answerOf(answer: Json, requestId: string | undefined): Input {
  if (requestId !== undefined) return { data: { toolUseId: requestId, result: answer }, mediaType: toolResult }
  return typeof answer === 'string' ? answer : { data: answer, mediaType: 'application/json' }
}

/** Forms of MCP are flat. */
function isForm(schema: Json | undefined): schema is JsonObject & RequestedSchema {
  const { type, properties } = asObject(schema)
  const fields = Object.values(asObject(properties))
  return type === 'object' && fields.length > 0 && fields.every(isField)
}

function isField(field: Json): boolean {
  const { type } = asObject(field)
  return type === 'string' || type === 'number' || type === 'integer' || type === 'boolean'
}

function asObject(value: Json | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}
}
