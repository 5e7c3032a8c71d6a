import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { MonoTypeOperatorFunction } from 'rxjs'
import type { Invocation } from '../core/agent/agent-function.ts'
import type { OnTimeout } from '../core/agent/ask.ts'
import { createAgentEvents } from '../core/agent/content.ts'
import { jsonSchemaOf, requireSchema } from '../core/agent/standard-schema.ts'
import {
  aFunction,
  anObject,
  anyOf,
  checkOptions,
  flag,
  group,
  integer,
  listOf,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  recordOf,
  text,
  valueThat,
} from '../core/base/options.ts'
import type { AgentExtension } from '../core/protocol/card.ts'
import { A2AError } from '../core/protocol/errors.ts'
import { clientToolsExtension } from '../core/protocol/extensions/client-tools.ts'
import { usageExtension } from '../core/protocol/extensions/usage.ts'
import {
  type Artifact,
  appendParts,
  type Message,
  type Part,
  type TaskStatus,
  toTimestamp,
} from '../core/protocol/model.ts'
import type { Telemetry } from '../core/protocol/telemetry.ts'
import { type LoopObserver, type ModelSettings, modelFailed, observeLoop } from './call-model.ts'
import type { LoopModel } from './model-stream.ts'
import { createObservableEvents, type ObservableEvents, withOperators } from './observable-events.ts'
import { createFailureLog, type ReportFailure, requireModel } from './report.ts'
import { type LoopEvent, type LoopSettings, runLoop } from './run-loop.ts'
import type { Tool } from './tools/tool.ts'
import { createToolbox, type ToolSource } from './tools/toolbox.ts'

/** Invocations kept for `cancel`. A turn that waits for its caller may never resume, so the oldest ones are dropped. */
const maxRunning = 10_000

/** Options of `createAgentLoop`. */
export interface AgentLoopOptions {
  /** A model of any provider for AI SDK 7 (specification v4) or 6 (v3). */
  readonly model: LoopModel
  /** A model that is called if `model` fails, after its retries, before it has sent anything. */
  readonly fallbackModel?: LoopModel
  /** Settings of the model: `temperature`, `maxOutputTokens`, `topP`, `topK`, `presencePenalty`, `frequencyPenalty`, `stopSequences`, `seed`, `reasoning`, `headers`, `providerOptions`. */
  readonly settings?: ModelSettings
  /** The system message, or a function that returns it for a message: it may depend on the caller (`turn.principal`). */
  readonly instructions?: string | ((invocation: Invocation) => string | undefined | Promise<string | undefined>)
  /**
   * Whether the model must call a tool in its first step: `required` any tool, `{ tool }` this one; `none` forbids it. Later
   * steps are free, so that the model can end. Defaults to `auto`.
   */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string }
  /**
   * Schema of a structured answer, from any Standard Schema library. The answer is a data part and no text. The model gets the
   * schema, and may correct an answer that does not fit twice.
   */
  readonly output?: StandardSchemaV1
  readonly tools?: readonly (Tool | ToolSource)[]
  /** RxJS operators that all events pass through, in this order: handlers (`tap`), transformers (`map`), filters… */
  readonly operators?: readonly MonoTypeOperatorFunction<LoopEvent>[]
  /** Earlier messages. Defaults to those of the context: of this task, and of the caller's earlier tasks in it. */
  readonly history?: (invocation: Invocation) => readonly Message[] | Promise<readonly Message[]>
  /** Estimated number of history tokens that the model receives. Defaults to 8000. */
  readonly historyTokens?: number
  /** Maximum number of model calls per message. Defaults to 16. */
  readonly maxSteps?: number
  /** Tokens, in and out, after which the model is not called again for a message. Defaults to no limit. */
  readonly tokenBudget?: number
  /** Maximum number of tool calls per message. Defaults to 64. */
  readonly maxToolCalls?: number
  /** Timeout of a tool, in milliseconds. Defaults to 60 seconds. */
  readonly toolTimeout?: number
  /** Maximum number of characters of a tool result that the model receives. The rest is cut off with a note. Defaults to 100,000. */
  readonly maxResultLength?: number
  /** Time that the model may send no content, in milliseconds. Defaults to 2 minutes. */
  readonly modelTimeout?: number
  /** Time that one answer of the model may take, in milliseconds. Defaults to 10 minutes. */
  readonly answerTimeout?: number
  /** Retries of a model call that has sent nothing yet and failed with a retryable provider error. Defaults to 2. */
  readonly modelRetries?: number
  /** Maximum number of characters, and of chunks of any type, that the model may send in one step. Defaults to 1,000,000. */
  readonly maxTextLength?: number
  /** Time that the caller may take to run a tool or to approve a call, in milliseconds. Defaults to 5 minutes. */
  readonly inputTimeout?: number
  /** When that time is over: `fail` fails the task (default); `continue` reports it to the model. */
  readonly onInputTimeout?: OnTimeout
  /**
   * Sends the caller the calls and results of the tools that the agent runs (local, MCP, other agents), as parts of the
   * types of `toolUse` and `toolResult` in progress messages. Defaults to false.
   */
  readonly toolMessages?: boolean
  /** Observes invocations without an agent. The server observes those of an agent. */
  readonly telemetry?: Telemetry
  /** Name of the loop in that telemetry. */
  readonly name?: string
  /** Receives errors. The caller does not see them. */
  readonly onError?: (error: unknown, invocation: Invocation) => void
}

/** `readLimits` checks the numbers. */
const checkedBelow: OptionCheck = () => {}

const number = valueThat('a number', (value) => typeof value === 'number')

const optionChecks: OptionChecks<AgentLoopOptions> = {
  model: anObject,
  // requireModel checks it.
  fallbackModel: checkedBelow,
  settings: group<ModelSettings>({
    temperature: number,
    maxOutputTokens: integer({ min: 1 }),
    topP: number,
    topK: number,
    presencePenalty: number,
    frequencyPenalty: number,
    stopSequences: listOf(text),
    seed: number,
    reasoning: text,
    headers: recordOf(text),
    providerOptions: anObject,
  }),
  instructions: valueThat('a text or a function', (value) => typeof value === 'string' || typeof value === 'function'),
  toolChoice: anyOf("'auto', 'none', 'required' or { tool }", oneOf('auto', 'none', 'required'), anObject),
  // requireSchema checks it: schemas of some libraries are functions.
  output: checkedBelow,
  tools: listOf(anObject),
  operators: listOf(aFunction),
  history: aFunction,
  historyTokens: checkedBelow,
  maxSteps: checkedBelow,
  tokenBudget: checkedBelow,
  maxToolCalls: checkedBelow,
  toolTimeout: checkedBelow,
  maxResultLength: checkedBelow,
  modelTimeout: checkedBelow,
  answerTimeout: checkedBelow,
  modelRetries: checkedBelow,
  maxTextLength: checkedBelow,
  inputTimeout: checkedBelow,
  onInputTimeout: oneOf('fail', 'continue'),
  toolMessages: flag,
  telemetry: anObject,
  name: text,
  onError: aFunction,
}

export interface LoopOutcome {
  readonly status: TaskStatus
  readonly artifacts: readonly Artifact[]
}

/** Calls the model, runs the tools it calls, and returns their results to it, until it is done. Use it as `agent(card, loop)`. */
export interface AgentLoop {
  /** Extensions for the agent's card: the loop may ask its caller for input, and to run tools. */
  readonly extensions: readonly AgentExtension[]
  /**
   * Starts on subscription; unsubscribing stops it.
   *
   * @example new Observable((subscriber) => loop.invoke(parts, { taskId, contextId }).subscribe(subscriber)) // for RxJS
   */
  invoke(parts: readonly Part[], invocation: Invocation): ObservableEvents<LoopEvent>
  invokeSync(parts: readonly Part[], invocation: Invocation): Promise<LoopOutcome>
  /** Returns whether the task was running. */
  cancel(taskId: string): boolean
}

/**
 * Creates a loop: it calls a model, runs the tools that the model calls, and streams the answer. Pass it to `agent()`.
 *
 * @example
 * const assistant = agent({ name: 'Assistant' }, createAgentLoop({ model, tools: [mcpTools({ command: 'my-mcp-server' })] }))
 */
export function createAgentLoop(options: AgentLoopOptions): AgentLoop {
  anObject(options, 'createAgentLoop(options)')
  const {
    model,
    fallbackModel,
    output: outputSchema,
    operators = [],
    history,
    telemetry,
    name = 'loop',
    toolMessages = false,
  } = options
  const { onError } = options
  requireModel(model)
  if (fallbackModel !== undefined) requireModel(fallbackModel, 'fallbackModel')
  checkOptions('createAgentLoop', options, optionChecks)
  const toolbox = createToolbox(options.tools ?? [])
  if (outputSchema !== undefined) requireSchema('createAgentLoop(): output', outputSchema)
  const settings = {
    models: [model, ...(fallbackModel ? [fallbackModel] : [])] as const,
    settings: options.settings ?? {},
    toolChoice: toolChoiceOf(options.toolChoice),
    outputSchema,
    responseFormat: outputSchema && responseFormatOf(outputSchema),
    toolbox,
    toolMessages,
    ...readLimits(options),
  }
  const running = new Map<string, AbortController>()

  function run(parts: readonly Part[], invocation: AbortableInvocation, emit: Emit): Promise<void> {
    if (invocation.turn || !telemetry) return runOrFail(parts, invocation, invocation.turn, emit)
    return observeLoop({ telemetry, name }, invocation, emit, (observer, observedEmit) =>
      runOrFail(parts, invocation, observer, observedEmit),
    )
  }

  async function runOrFail(
    parts: readonly Part[],
    invocation: AbortableInvocation,
    observer: LoopObserver | undefined,
    emit: Emit,
  ): Promise<void> {
    const agentEvents = createAgentEvents(invocation)
    const logFailure = createFailureLog(invocation)
    const report: ReportFailure = (failure) => {
      logFailure(failure)
      onError?.(failure.error, invocation)
    }
    try {
      const readHistory = history && (() => history(invocation))
      const instructions = () => {
        const { instructions: given } = options
        return typeof given === 'function' ? given(invocation) : given
      }
      const forMessage = { instructions, history: readHistory, report, logFailure, observer }
      await runLoop(parts, invocation, { ...settings, ...forMessage }, emit)
    } catch (error) {
      if (invocation.signal.aborted) return emit(agentEvents.status('canceled'))
      report({ error, message: 'a loop failed', level: 'error' })
      // Provider errors may contain URLs and keys, so callers do not see them.
      const text = error instanceof A2AError ? error.message : modelFailed
      emit(agentEvents.status('failed', text))
    }
  }

  function invoke(parts: readonly Part[], invocation: Invocation): ObservableEvents<LoopEvent> {
    const source = createObservableEvents<LoopEvent>((observer) => {
      const { taskId } = invocation
      const controller = new AbortController()
      // A resumed turn has a journal: its earlier invocation was suspended, and the work that it started continues.
      if (!invocation.journal) running.get(taskId)?.abort('invoked again')
      dropOldest(running)
      running.set(taskId, controller)
      const signal = invocation.signal ? AbortSignal.any([controller.signal, invocation.signal]) : controller.signal
      void run(parts, { ...invocation, signal }, observer.next).finally(() => {
        if (running.get(taskId) === controller) running.delete(taskId)
        observer.complete()
      })
      return () => controller.abort('left')
    })
    return withOperators(source, operators)
  }

  return {
    extensions: [clientToolsExtension, usageExtension],
    invoke,
    invokeSync(parts, invocation) {
      const events: LoopEvent[] = []
      return new Promise((resolve, reject) => {
        const complete = () => resolve(outcomeOf(events))
        invoke(parts, invocation).subscribe({ next: (event) => events.push(event), error: reject, complete })
      })
    },
    cancel(taskId) {
      const controller = running.get(taskId)
      controller?.abort()
      return controller !== undefined
    },
  }
}

type AbortableInvocation = Invocation & { readonly signal: AbortSignal }

type Emit = (event: LoopEvent) => void

function toolChoiceOf(choice: AgentLoopOptions['toolChoice']): LoopSettings['toolChoice'] {
  if (typeof choice !== 'object') return choice === undefined ? undefined : { type: choice }
  text(choice.tool, 'createAgentLoop: toolChoice.tool')
  return { type: 'tool', toolName: choice.tool }
}

function responseFormatOf(schema: StandardSchemaV1): LoopSettings['responseFormat'] {
  const json = jsonSchemaOf(schema, 'output', 'draft-07')
  return json ? { type: 'json', schema: json as never } : { type: 'json' }
}

function readLimits(options: AgentLoopOptions) {
  const limits = { ...defaults }
  for (const name of Object.keys(defaults) as (keyof typeof defaults)[]) {
    const value = options[name] ?? defaults[name]
    if (typeof value !== 'number' || !(value >= 0)) {
      throw new TypeError(
        `createAgentLoop(): expected ${name} to be a number of at least 0, got ${JSON.stringify(value)}`,
      )
    }
    limits[name] = value
  }
  return { ...limits, onInputTimeout: options.onInputTimeout ?? ('fail' as const) }
}

const defaults = {
  maxSteps: 16,
  tokenBudget: Number.POSITIVE_INFINITY,
  maxToolCalls: 64,
  toolTimeout: 60_000,
  maxResultLength: 100_000,
  modelTimeout: 120_000,
  answerTimeout: 600_000,
  modelRetries: 2,
  maxTextLength: 1_000_000,
  inputTimeout: 300_000,
  historyTokens: 8_000,
}

function dropOldest(running: Map<string, AbortController>): void {
  const [oldest] = running.keys()
  if (running.size >= maxRunning && oldest !== undefined) running.delete(oldest)
}

/** The last status, and the artifacts with their chunks joined. */
function outcomeOf(events: readonly LoopEvent[]): LoopOutcome {
  let status: TaskStatus = { state: 'completed', timestamp: toTimestamp() }
  const artifacts = new Map<string, Artifact>()
  for (const event of events) {
    if (event.type === 'status') {
      status = event.status
      continue
    }
    const { artifact, append } = event
    const existing = append ? artifacts.get(artifact.artifactId) : undefined
    const parts = [...(existing?.parts ?? [])]
    appendParts(parts, artifact.parts)
    artifacts.set(artifact.artifactId, { ...existing, ...artifact, parts })
  }
  return { status, artifacts: [...artifacts.values()] }
}
