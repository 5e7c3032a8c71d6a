import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AdaptedFunction, ProfileDefaults } from '../../core/agent/agent-function.ts'
import type { Answer, Question } from '../../core/agent/ask.ts'
import type { ArtifactWriter, Turn, TurnOutput } from '../../core/agent/turn.ts'
import { sha256, toHex } from '../../core/base/hash.ts'
import { defined, isList, isObject, type Json, type JsonObject, toJson } from '../../core/base/json.ts'
import { anObject, checkOptions, flag, listOf, type OptionChecks } from '../../core/base/options.ts'
import type { AgentSkill } from '../../core/protocol/card.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import { progressKey } from '../../core/protocol/extensions/progress.ts'
import { typedSkills } from '../../core/protocol/extensions/typed-skills.ts'
import { type Usage, usageExtension } from '../../core/protocol/extensions/usage.ts'
import { type Message, textOf } from '../../core/protocol/model.ts'

/** Characters of the input or the result of a tool that callers and operators see. */
const maxShown = 4_000

/** The options that every adapter has. */
export interface AdapterOptions {
  /** Sends the model's reasoning to callers, in the metadata of statuses. Defaults to false. */
  readonly reasoning?: boolean
  /** The skills on the card. Default to the tools of the agent. */
  readonly skills?: readonly (Pick<AgentSkill, 'id' | 'name'> & Partial<AgentSkill>)[]
}

export const adapterChecks: OptionChecks<AdapterOptions> = { reasoning: flag, skills: listOf(anObject) }

/** A tool of an agent, as its card lists it. */
export interface AgentTool {
  readonly name: string
  readonly description?: string | undefined
  /** A JSON Schema, or a schema of a library that can be converted to one. */
  readonly schema?: unknown
}

/** The tools of an agent, as its framework has them: a list, or an object by their names. */
export function describeTools(tools: unknown): readonly AgentTool[] {
  const entries = Object.entries((tools ?? {}) as Readonly<Record<string, Partial<FrameworkTool> | undefined>>)
  return entries.flatMap(([key, tool]) => {
    const name = isList(tools) ? tool?.name : key
    if (!tool || typeof name !== 'string' || name === '') return []
    const { description, inputSchema, parameters, schema, toolSpec } = tool
    return {
      name,
      description: typeof description === 'string' ? description : undefined,
      schema: inputSchema ?? parameters ?? schema ?? toolSpec?.inputSchema,
    }
  })
}

/** Each framework has one of the schemas. */
interface FrameworkTool {
  readonly name: unknown
  readonly description: unknown
  readonly inputSchema: unknown
  readonly parameters: unknown
  readonly schema: unknown
  readonly toolSpec: { readonly inputSchema?: unknown }
}

/** How one framework runs its agents. */
export interface Framework {
  /** The name of the adapter, for errors. */
  readonly name: string
  /** The name of the agent: a part of its threads. */
  readonly agent: string
  readonly tools?: readonly AgentTool[]
  /**
   * Runs the agent until it ends or waits for answers. Everything that the next run needs is in the result, as JSON: it
   * may happen in another process. A run that is repeated after a crash starts from the same input.
   */
  run(input: RunInput, output: RunOutput): Promise<RunResult>
}

export interface RunInput {
  /** Names the conversation: a hash of agent, tenant, caller and context. Two callers never have the same. */
  readonly thread: string
  readonly turn: Turn
  /** Aborts when the task is canceled, and on every other stop. */
  readonly signal: AbortSignal
  /** What earlier turns said. Texts only. */
  readonly conversation: readonly Said[]
  readonly message: readonly InputItem[]
  /** Set if the run continues one that waited for answers. */
  readonly resume?: { readonly state: Json; readonly answers: readonly RunAnswer[] }
}

export interface RunResult {
  readonly state?: Json
  /** What the run waits for. None: it has ended. */
  readonly pending: readonly Pending[]
}

/** A question of a framework: an interrupt, a suspended tool, or the approval of a tool call. */
export interface Pending {
  readonly id: string
  readonly question: string
  /** `approval` asks for yes or no. */
  readonly kind: 'approval' | 'input'
  /** A JSON Schema of the answer. */
  readonly schema?: JsonObject | undefined
  /** What the framework needs to continue. */
  readonly carry?: Json | undefined
  /** Set if a tool of `asTool` asks, and the framework cannot have it ask a second time: see `answerRemote`. */
  readonly remote?: { readonly tool: string; readonly question: RemoteQuestion }
}

/** A question of another agent, as JSON: what a person sees, and what continues the task with the answer. */
export interface RemoteQuestion {
  readonly question: string
  /** A JSON Schema of the answer. */
  readonly schema?: JsonObject
  /** The task that waits. */
  readonly a2a: {
    readonly agent: string
    readonly taskId: string
    readonly contextId?: string
    readonly questionId?: string
  }
}

export interface RunAnswer {
  readonly pending: Pending
  /** The value of the answer; for an approval, `{ approved, reason }`. */
  readonly value: Json
}

export interface Approval {
  readonly approved: boolean
  readonly reason?: string
}

export interface Said {
  readonly role: 'user' | 'assistant'
  readonly text: string
}

/** A piece of the caller's message. Data parts are JSON text. A file has its bytes in base64, or its address. */
export type InputItem =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly filename?: string; readonly base64: string }
  | { readonly type: 'url'; readonly mediaType: string; readonly filename?: string; readonly url: string }

/** What a framework reports while it runs. */
export interface RunOutput {
  /** A piece of the answer. */
  text(delta: string): Promise<void>
  /** The model begins another message: its text is a paragraph of its own. */
  nextMessage(): void
  reasoning(delta: string): Promise<void>
  toolCall(call: { readonly id: string; readonly name: string; readonly input: unknown }): Promise<void>
  toolResult(result: ToolResult): Promise<void>
  /** Structured output. */
  data(value: unknown): Promise<void>
  file(file: { readonly name: string; readonly mediaType: string; readonly content: Uint8Array }): Promise<void>
  usage(usage: Usage): Promise<void>
}

interface ToolResult {
  readonly id: string
  readonly name: string
  readonly result: unknown
  readonly isError?: boolean
  /** The tool still runs. */
  readonly isProgress?: boolean
}

/**
 * Makes an agent's function of a framework. One run is one step: its result is stored, so that the questions it ends with
 * can be answered in another process, days later. All of them are asked before the run continues, once.
 */
export function adaptFramework(framework: Framework, options: AdapterOptions = {}): AdaptedFunction {
  const run = async (turn: Turn): Promise<undefined> => {
    // The work always is a task: the caller sees it, and can cancel it, before the model has said anything.
    await turn.status('working')
    let resume: RunInput['resume']
    for (let number = 1; ; number++) {
      const { state, pending } = await turn.step(`run ${number}`, (output) => runOnce(turn, output, resume))
      if (pending.length === 0) return undefined
      const answers = await turn.ask(pending.map(questionOf))
      resume = {
        state: state ?? null,
        answers: pending.map((each, at) => ({ pending: each, value: answerValue(answers[at]) })),
      }
    }
  }

  async function runOnce(turn: Turn, output: TurnOutput, resume: RunInput['resume']): Promise<RunResult> {
    const { signal, message } = turn
    const runOutput = createRunOutput(output, options)
    const conversation = resume ? [] : saidIn(await turn.conversation())
    const input = { thread: threadOf(framework.agent, turn), turn, signal, conversation, message: itemsOf(message) }
    try {
      const result = await framework.run(resume ? { ...input, resume } : input, runOutput)
      // Some frameworks end an aborted run as if it were finished.
      signal.throwIfAborted()
      await runOutput.close()
      return toJson(result, `The state of ${framework.name}`) as unknown as RunResult
    } catch (error) {
      signal.throwIfAborted()
      throw failureOf(error)
    }
  }

  return Object.assign(run, { defaults: defaultsOf(framework.tools ?? [], options) })
}

/** Checks the options of an adapter, and that it got an agent. */
export function checkAdapter<T extends AdapterOptions>(
  name: string,
  options: T,
  checks: OptionChecks<T>,
  isAgent: boolean,
  expected: string,
): void {
  checkOptions<T>(name, options, checks)
  if (!isAgent) throw new TypeError(`${name}(): expected ${expected}.`)
}

/** The question of a tool call that needs an approval. */
export function approvalOf(id: string, tool: string, input: unknown, carry?: Json): Pending {
  return { id, kind: 'approval', question: `May the agent call ${tool} with ${shown(input)}? Answer yes or no.`, carry }
}

/** What a framework asks: a text, an object with a text in it, or anything else as JSON. */
export function questionText(value: unknown): string {
  if (typeof value === 'string') return value
  const members: Readonly<Record<string, unknown>> = isObject(value) ? value : {}
  for (const name of ['question', 'message', 'prompt', 'hint', 'text', 'reason']) {
    const text = members[name]
    if (typeof text === 'string' && text !== '') return text
  }
  return shown(value)
}

export function readApproval(value: Json): Approval {
  return isObject(value) && typeof value.approved === 'boolean' ? (value as unknown as Approval) : { approved: false }
}

/** Reads JSON from a text, or returns the text. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A copy as JSON writes it: frameworks have classes, dates and bytes in their states. */
export function asJson(value: unknown): Json {
  return value === undefined ? null : JSON.parse(JSON.stringify(value))
}

function threadOf(agent: string, { principal, contextId }: Turn): string {
  return toHex(sha256(JSON.stringify([agent, principal.tenant ?? null, principal.id, contextId])))
}

function itemsOf({ parts }: Message): readonly InputItem[] {
  return parts.map((part): InputItem => {
    if ('text' in part) return { type: 'text', text: part.text }
    if ('data' in part) return { type: 'text', text: JSON.stringify(part.data) }
    const mediaType = part.mediaType ?? 'application/octet-stream'
    const file = defined({ mediaType, filename: part.filename })
    return 'raw' in part ? { type: 'file', ...file, base64: part.raw } : { type: 'url', ...file, url: part.url }
  })
}

/** The texts of a conversation. Messages of one side in a row are one, because models want turns. */
function saidIn(messages: readonly Message[]): readonly Said[] {
  const said: { role: Said['role']; text: string }[] = []
  for (const message of messages) {
    const role = message.role === 'user' ? 'user' : 'assistant'
    const text = [textOf(message), ...message.parts.flatMap(dataText)].filter((each) => each !== '').join('\n')
    const last = said.at(-1)
    if (text === '') continue
    if (last?.role === role) last.text += `\n\n${text}`
    else said.push({ role, text })
  }
  return said
}

function dataText(part: Message['parts'][number]): readonly string[] {
  if ('data' in part) return [JSON.stringify(part.data)]
  return 'text' in part ? [] : [`[file ${part.filename ?? part.mediaType ?? ''}]`]
}

function createRunOutput(output: TurnOutput, { reasoning = false }: AdapterOptions) {
  let answer: ArtifactWriter | undefined
  let isNewMessage = false
  const progress = (details: JsonObject) =>
    output.status('working', undefined, { metadata: { [progressKey]: details } })

  return {
    async text(delta: string) {
      if (delta === '') return
      const separator = isNewMessage && answer ? '\n\n' : ''
      isNewMessage = false
      answer ??= output.artifact('answer')
      await answer.write(separator + delta)
    },
    nextMessage() {
      isNewMessage = true
    },
    async reasoning(delta: string) {
      if (reasoning && delta !== '') await progress({ type: 'reasoning', text: delta })
    },
    toolCall: ({ id, name, input }) =>
      progress({ type: 'tool', tool: name, toolCallId: id, state: 'called', input: shown(input) }),
    toolResult({ id, name, result, isError, isProgress }) {
      const state = isProgress ? 'working' : isError ? 'failed' : 'done'
      return progress({ type: 'tool', tool: name, toolCallId: id, state, result: shown(result) })
    },
    data: (value) => output.data(asJson(value), 'output'),
    file: (file) => output.file(file),
    usage: (usage) => output.usage(usage),
    async close() {
      await answer?.close()
    },
  } satisfies RunOutput & { close(): Promise<void> }
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.length > maxShown ? `${text.slice(0, maxShown)}…` : text
}

function questionOf({ question, kind, schema }: Pending): Question {
  if (kind === 'approval') return { question, schema: approvalSchema }
  return schema ? { question, schema: standardSchemaOf(schema) } : { question }
}

/** A validated value, or the value of an answer without a schema. */
function answerValue(answer: unknown): Json {
  const isAnswer = isObject(answer) && 'principal' in answer && 'message' in answer
  return isAnswer ? (answer as unknown as Answer).value : (answer as Json)
}

const approvalJsonSchema: JsonObject = {
  type: 'object',
  properties: { approved: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['approved'],
}

/** Accepts `{ approved, reason }`, true and false, and yes and no in words. */
const approvalSchema: StandardSchemaV1<unknown, Approval> = {
  ...approvalJsonSchema,
  '~standard': {
    version: 1,
    vendor: 'parley',
    validate(value) {
      if (isObject(value) && typeof value.approved === 'boolean') {
        const { approved, reason } = value
        return { value: defined({ approved, reason: typeof reason === 'string' ? reason : undefined }) }
      }
      const word = `${value}`.trim().toLowerCase().replace(/[.!]$/, '')
      if (['yes', 'y', 'true', 'ok', 'approve', 'approved', 'allow'].includes(word))
        return { value: { approved: true } }
      if (['no', 'n', 'false', 'deny', 'denied', 'reject', 'rejected'].includes(word))
        return { value: { approved: false } }
      return { issues: [{ message: 'expected yes or no' }] }
    },
  },
}

/** A JSON Schema that checks the outline of an answer. The framework checks the rest. */
function standardSchemaOf(schema: JsonObject): StandardSchemaV1 {
  const problems = (value: unknown) => problemsOf(schema, value, [])
  return {
    ...schema,
    '~standard': {
      version: 1,
      vendor: 'parley',
      validate(value) {
        const issues = problems(value)
        return issues.length > 0 ? { issues } : { value }
      },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  } as StandardSchemaV1
}

function problemsOf(schema: JsonObject, value: unknown, path: readonly string[]): StandardSchemaV1.Issue[] {
  const types = [schema.type].flat().filter((type) => typeof type === 'string')
  if (types.length > 0 && !types.some((type) => hasType(value, type))) {
    return [{ message: `expected ${types.join(' or ')}`, path }]
  }
  const choices = schema.enum
  if (Array.isArray(choices) && !choices.includes(value as Json)) {
    return [{ message: `expected one of ${JSON.stringify(choices)}`, path }]
  }
  if (!isObject(value)) return []
  const required = Array.isArray(schema.required) ? schema.required : []
  const missing = required.filter((name) => typeof name === 'string' && value[name] === undefined)
  const members = isObject(schema.properties) ? Object.entries(schema.properties) : []
  return [
    ...missing.map((name) => ({ message: 'is missing', path: [...path, `${name}`] })),
    ...members.flatMap(([name, member]) =>
      isObject(member) && value[name] !== undefined ? problemsOf(member, value[name], [...path, name]) : [],
    ),
  ]
}

function hasType(value: unknown, type: string): boolean {
  switch (type) {
    case 'null':
      return value === null
    case 'array':
      return Array.isArray(value)
    case 'object':
      return isObject(value)
    case 'integer':
      return Number.isInteger(value)
    default:
      return typeof value === type
  }
}

/** What the card says of an adapted agent, unless its profile says it. */
function defaultsOf(tools: readonly AgentTool[], options: AdapterOptions): ProfileDefaults {
  const schemas = tools.flatMap(({ name, schema }): [string, JsonObject][] => {
    const input = toJsonSchema(schema)
    return input ? [[name, { input }]] : []
  })
  const description = 'The JSON Schemas of the tools of this agent. A message may carry the input of one as data.'
  const typed = { uri: typedSkills, description, required: false, params: { skills: Object.fromEntries(schemas) } }
  const skills =
    options.skills ?? tools.map(({ name, description = name }) => ({ id: name, name, description, tags: ['tool'] }))
  return defined({
    skills: skills.length > 0 ? skills : undefined,
    // The framework decides what it understands.
    inputModes: ['text/*', 'application/*', 'image/*', 'audio/*', 'video/*'],
    recovery: 'resume',
    extensions: [usageExtension, ...(schemas.length > 0 && !options.skills ? [typed] : [])],
  })
}

/** A JSON Schema as it is, or what a schema library converts to one. */
export function toJsonSchema(schema: unknown): JsonObject | undefined {
  if (typeof schema !== 'object' || schema === null) return undefined
  try {
    const members = schema as Readonly<Record<string, unknown>>
    const standard = members['~standard']
    const convert = isObject(standard) ? (standard as unknown as StandardJson).jsonSchema?.input : undefined
    const converted = convert ? convert({ target: 'draft-2020-12' }) : members.jsonSchema
    if (isObject(converted)) return asJson(converted) as JsonObject
    return typeof members.type === 'string' && !standard ? (asJson(schema) as JsonObject) : undefined
  } catch {
    // A schema that has no JSON form, such as one with a transformation.
    return undefined
  }
}

interface StandardJson {
  readonly jsonSchema?: { readonly input?: (options: { readonly target: string }) => unknown }
}

/** A failure as its caller reads it. What the model said may hold secrets: it is the cause, for the log. */
function failureOf(cause: unknown): A2AError {
  if (cause instanceof A2AError) return cause
  const { name = '', status, statusCode = status } = isObject(cause) ? (cause as Partial<ModelError>) : {}
  if (/Recursion|MaxTurns|LlmCallsLimit/.test(name)) {
    return new A2AError('internal', 'The agent needed more steps than it may take: ask for less at once.', { cause })
  }
  if (/Tripwire|Guardrail/.test(name)) {
    return new A2AError('internal', 'A guardrail of the agent stopped it.', { cause })
  }
  if (statusCode === 429) {
    return new A2AError('unavailable', 'The model of this agent is over its limit: try again later.', { cause })
  }
  const text = 'The agent could not finish, because its model or a part of it failed: try again later.'
  return new A2AError('unavailable', text, { cause })
}

interface ModelError {
  readonly name: string
  readonly status: unknown
  readonly statusCode: unknown
}
