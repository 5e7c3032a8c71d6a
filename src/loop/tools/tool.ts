import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { OnTimeout } from '../../agent/ask.ts'
import { jsonSchemaOf, requireSchema } from '../../agent/standard-schema.ts'
import type { Turn } from '../../agent/turn.ts'
import type { JsonObject } from '../../base/json.ts'
import type { Trace } from '../../base/trace-context.ts'
import type { Artifact } from '../../protocol/model.ts'

/** Every message asks for them again, and libraries take their time to tell. */
const told = new WeakMap<Tool, JsonObject>()

export interface ToolContext {
  readonly taskId: string
  readonly contextId: string
  readonly toolCallId: string
  /** Aborts on cancel and when the tool has taken too long. */
  readonly signal: AbortSignal
  /** Tells the caller how far it is. */
  readonly progress: (text: string) => void
  /** Gives the caller something beside the answer of the model. */
  readonly artifact: (artifact: Pick<Artifact, 'name' | 'parts'>) => void
  /** Where it is in its trace (W3C Trace Context), for whom it asks for help; undefined if it is in none. */
  readonly trace?: Trace | undefined
  /** The turn that the loop works for, if it is the loop of an agent. */
  readonly turn?: Turn
}

export interface LocalToolOptions<S extends StandardSchemaV1> extends Omit<ToolBase, 'input'> {
  readonly input: S
  readonly usesTurn?: boolean
  readonly run: (input: StandardSchemaV1.InferOutput<S>, context: ToolContext) => unknown
}

export interface LocalTool extends ToolBase {
  readonly type: 'local'
  /**
   * It works with the turn: asks, calls, has steps. Otherwise, where turns are resumed, what it returns is stored, and it
   * is not run again.
   */
  readonly usesTurn?: boolean
  readonly run: (input: unknown, context: ToolContext) => unknown
}

/** A tool that runs in this process. */
export function localTool<S extends StandardSchemaV1>({ run, ...options }: LocalToolOptions<S>): LocalTool {
  requireName(options.name)
  requireSchema(`localTool(${options.name})`, options.input)
  // Only what the schema has made of the arguments gets here.
  return { ...options, type: 'local', run: (input, context) => run(input as StandardSchemaV1.InferOutput<S>, context) }
}

/** Done by the caller: the task pauses until it has told the result. */
export interface ClientTool extends ToolBase {
  readonly type: 'client'
  /** What the caller is told, beside the call. */
  readonly prompt?: string
  /** When the caller does not answer in time: the task fails, or the model is told. Of the loop's options by default. */
  readonly onTimeout?: OnTimeout
  /** What the caller answers is for the model alone: it is never stored, told or logged. */
  readonly sensitive?: boolean
}

/** A tool that the caller runs. */
export function clientTool(options: Omit<ClientTool, 'type'>): ClientTool {
  requireName(options.name)
  requireSchema(`clientTool(${options.name})`, options.input)
  return { ...options, type: 'client' }
}

export const textJsonSchema = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }

/** What a tool takes that takes plain text. */
export interface TextInput {
  readonly text: string
}

export const textInput: StandardSchemaV1<TextInput> = {
  '~standard': {
    version: 1,
    vendor: 'parley',
    validate(value) {
      const text = typeof value === 'object' && value && 'text' in value ? value.text : undefined
      return typeof text === 'string'
        ? { value: { text } }
        : { issues: [{ message: 'expected a text', path: ['text'] }] }
    },
  },
}

/** What a model can have done. */
export type Tool = LocalTool | ClientTool

/** What a tool takes, for the model: as given, or as its schema tells. Where nobody can tell, any object. */
export function inputJsonSchema(tool: Tool): JsonObject {
  const known = tool.inputJsonSchema ?? told.get(tool)
  if (known) return known
  const schema = jsonSchemaOf(tool.input, 'input', 'draft-07') ?? { type: 'object' }
  told.set(tool, schema)
  return schema
}

interface ToolBase {
  readonly name: string
  readonly description?: string
  /** What it takes, by any library of Standard Schema. Arguments that do not fit never reach the tool. */
  readonly input: StandardSchemaV1
  /** What it takes, as the JSON Schema for the model; asked of the library of `input` where that can tell. */
  readonly inputJsonSchema?: JsonObject
  /** Milliseconds that it, or the caller who runs it, may take. Of the loop's options by default. */
  readonly timeout?: number
  /** A person, the caller, must say yes before each call. */
  readonly needsApproval?: boolean
}

function requireName(name: unknown): void {
  if (typeof name === 'string' && /^[\w-]{1,64}$/.test(name)) return
  throw new TypeError(`A tool needs a name of 1 to 64 letters, digits, _ and -, got ${JSON.stringify(name)}`)
}
