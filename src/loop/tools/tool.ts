import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { OnTimeout } from '../../core/agent/ask.ts'
import { jsonSchemaOf, requireSchema } from '../../core/agent/standard-schema.ts'
import type { Turn } from '../../core/agent/turn.ts'
import type { JsonObject } from '../../core/base/json.ts'
import {
  aFunction,
  anObject,
  anything,
  checkOptions,
  flag,
  milliseconds,
  type OptionChecks,
  text,
} from '../../core/base/options.ts'
import type { Trace } from '../../core/base/trace-context.ts'
import type { TextInput } from '../../core/client/remote-tool.ts'
import type { Artifact } from '../../core/protocol/model.ts'

/** Cached, because schema libraries are slow to create them and every message needs them. */
const jsonSchemas = new WeakMap<Tool, JsonObject>()

export interface ToolContext {
  readonly taskId: string
  readonly contextId: string
  readonly toolCallId: string
  /** Aborts on cancellation and timeout. */
  readonly signal: AbortSignal
  /** Sends the caller a progress message. */
  readonly progress: (text: string) => void
  /** Sends the caller an artifact beside the model's answer. */
  readonly artifact: (artifact: Pick<Artifact, 'name' | 'parts'>) => void
  /** The current trace (W3C Trace Context), to pass on to services that the tool calls. */
  readonly trace?: Trace | undefined
  /** The agent's turn, if the loop belongs to an agent. */
  readonly turn?: Turn
}

/** Options of `localTool`. */
export interface LocalToolOptions<S extends StandardSchemaV1> extends Omit<ToolBase, 'input'> {
  readonly input: S
  readonly usesTurn?: boolean
  readonly run: (input: StandardSchemaV1.InferOutput<S>, context: ToolContext) => unknown
}

/** A tool that runs in this process. */
export interface LocalTool extends ToolBase {
  readonly type: 'local'
  /**
   * The tool uses the turn: it asks, calls agents or runs steps. Otherwise, in durable turns, its result is stored and the
   * tool is not run again.
   */
  readonly usesTurn?: boolean
  readonly run: (input: unknown, context: ToolContext) => unknown
}

/**
 * Creates a tool that runs in this process.
 *
 * @example
 * const weather = localTool({
 *   name: 'weather',
 *   description: 'Returns the weather of a city.',
 *   input: z.object({ city: z.string() }),
 *   run: ({ city }) => `It rains in ${city}.`,
 * })
 */
export function localTool<S extends StandardSchemaV1>(options: LocalToolOptions<S>): LocalTool {
  const { run, ...tool } = options
  requireName(options.name)
  checkOptions<object>(`localTool(${options.name})`, options, { ...toolChecks, usesTurn: flag, run: aFunction })
  requireSchema(`localTool(${options.name})`, options.input)
  // The loop passes only arguments that the schema has validated.
  return { ...tool, type: 'local', run: (input, context) => run(input as StandardSchemaV1.InferOutput<S>, context) }
}

/** A tool that the caller runs: the task pauses until the caller sends the result. */
export interface ClientTool extends ToolBase {
  readonly type: 'client'
  /** The text that asks the caller to run the tool. */
  readonly prompt?: string
  /** What happens when the caller does not answer in time. Defaults to `onInputTimeout` of the loop. */
  readonly onTimeout?: OnTimeout
  /** Only the model receives the answer: it is never stored, emitted or logged. */
  readonly sensitive?: boolean
  /**
   * Schema of the result, from any Standard Schema library. Callers see it as JSON Schema, such as for a form, and a result
   * that does not fit is reported to the model as an error.
   */
  readonly output?: StandardSchemaV1
}

/**
 * Creates a tool that the caller runs.
 *
 * @example
 * const openPage = clientTool({ name: 'open_page', input: z.object({ url: z.url() }) })
 */
export function clientTool(options: Omit<ClientTool, 'type'>): ClientTool {
  requireName(options.name)
  checkOptions(`clientTool(${options.name})`, options, clientToolChecks)
  requireSchema(`clientTool(${options.name})`, options.input)
  if (options.output) requireSchema(`clientTool(${options.name}).output`, options.output)
  return { ...options, type: 'client' }
}

export const textInput: StandardSchemaV1<TextInput> = {
  '~standard': {
    version: 1,
    vendor: 'parley',
    validate(value) {
      const text = typeof value === 'object' && value && 'text' in value ? value.text : undefined
      return typeof text === 'string'
        ? { value: { text } }
        : { issues: [{ message: 'expected a string', path: ['text'] }] }
    },
  },
}

/** A tool of a loop: run by this process (`localTool`) or by the caller (`clientTool`). */
export type Tool = LocalTool | ClientTool

/** The JSON Schema of the input: the configured one, the schema library's own, or else any object. */
export function inputJsonSchema(tool: Tool): JsonObject {
  const cached = tool.inputJsonSchema ?? jsonSchemas.get(tool)
  if (cached) return cached
  const schema = jsonSchemaOf(tool.input, 'input', 'draft-07') ?? { type: 'object' }
  jsonSchemas.set(tool, schema)
  return schema
}

interface ToolBase {
  readonly name: string
  readonly description?: string
  /** Schema of the input, from any Standard Schema library. Invalid arguments never reach the tool. */
  readonly input: StandardSchemaV1
  /** JSON Schema of the input, for the model. Defaults to the one that the library of `input` creates. */
  readonly inputJsonSchema?: JsonObject
  /** Timeout of the tool, or of the caller who runs it, in milliseconds. Defaults to the loop's options. */
  readonly timeout?: number
  /** The caller must approve each call. */
  readonly needsApproval?: boolean
}

const toolChecks: OptionChecks<ToolBase> = {
  name: text,
  description: text,
  // Schemas of some libraries are functions: `requireSchema` checks them.
  input: anything,
  inputJsonSchema: anObject,
  timeout: milliseconds({ min: 1 }),
  needsApproval: flag,
}

const clientToolChecks: OptionChecks<Omit<ClientTool, 'type'>> = {
  ...toolChecks,
  prompt: text,
  output: anything,
  onTimeout: anything,
  sensitive: flag,
}

function requireName(name: unknown): void {
  if (typeof name === 'string' && /^[\w-]{1,64}$/.test(name)) return
  throw new TypeError(`A tool needs a name of 1 to 64 letters, digits, _ and -, got ${JSON.stringify(name)}`)
}
