import type { LanguageModelV4 } from '@ai-sdk/provider'
import { lastValueFrom, type MonoTypeOperatorFunction, Observable, toArray } from 'rxjs'
import type { Invocation } from '../agent/agent-function.ts'
import type { OnTimeout } from '../agent/ask.ts'
import { createAgentEvents } from '../agent/turn-output.ts'
import type { AgentExtension } from '../protocol/card.ts'
import { A2AError } from '../protocol/errors.ts'
import { clientToolsExtension } from '../protocol/extensions/client-tools.ts'
import { type Artifact, type Message, type Part, type TaskStatus, toTimestamp } from '../protocol/model.ts'
import type { Telemetry } from '../protocol/telemetry.ts'
import { type Watcher, watchedLoop } from './ask-model.ts'
import { type LoopEvent, runLoop } from './run-loop.ts'
import type { Tool } from './tools/tool.ts'
import { createToolbox, type ToolSource } from './tools/toolbox.ts'

/** A turn that waits for its caller may never be resumed: the oldest of so many are forgotten. */
const maxRunning = 10_000

export interface AgentLoopOptions {
  /** Of any provider of the AI SDK. */
  readonly model: LanguageModelV4
  readonly instructions?: string
  readonly tools?: readonly (Tool | ToolSource)[]
  /** Everything that is told goes through them, in this order: handlers (`tap`), transformers (`map`), filters… */
  readonly operators?: readonly MonoTypeOperatorFunction<LoopEvent>[]
  /** What was said before. By default what was said in the context: in this task, and in earlier ones of its caller. */
  readonly history?: (invocation: Invocation) => readonly Message[] | Promise<readonly Message[]>
  /** Tokens of history that the model is given, as estimated. 8000 by default. */
  readonly historyTokens?: number
  /** How often the model is asked for one message. 16 by default. */
  readonly maxSteps?: number
  /** How many tools are called for one message. 64 by default. */
  readonly maxToolCalls?: number
  /** Milliseconds that a tool may take. 60 seconds by default. */
  readonly toolTimeout?: number
  /** Milliseconds that the model may say nothing. 2 minutes by default. */
  readonly modelTimeout?: number
  /** How often the model is asked again before it has said anything, if its provider thinks it worth a try. 2 by default. */
  readonly modelRetries?: number
  /** Characters that the model may say in one step. 1,000,000 by default. */
  readonly maxTextLength?: number
  /** Milliseconds that the caller may take to answer: to run a tool, to approve a call. 5 minutes by default. */
  readonly inputTimeout?: number
  /** When it does not: the task fails (default), or the model is told. */
  readonly onInputTimeout?: OnTimeout
  /** Watches what it does where it is invoked without an agent. What that of an agent does, its server has watched. */
  readonly telemetry?: Telemetry
  /** What it is called there. */
  readonly name?: string
  /** Told what went wrong. The caller is not. */
  readonly onError?: (error: unknown, invocation: Invocation) => void
}

export interface LoopOutcome {
  readonly status: TaskStatus
  readonly artifacts: readonly Artifact[]
}

/** Model → tool calls → results → model, until done. `agent(card, loop)` makes an agent of it. */
export interface AgentLoop {
  /** What the card of its agent says: that its caller may be asked for input, and to run tools. */
  readonly extensions: readonly AgentExtension[]
  /** Starts when it is subscribed to; whoever unsubscribes stops it. */
  invoke(parts: readonly Part[], invocation: Invocation): Observable<LoopEvent>
  invokeSync(parts: readonly Part[], invocation: Invocation): Promise<LoopOutcome>
  /** Whether there was something to cancel. */
  cancel(taskId: string): boolean
}

export function createAgentLoop(options: AgentLoopOptions): AgentLoop {
  const { model, instructions, operators = [], history, telemetry, name = 'loop', onError } = options
  const toolbox = createToolbox(options.tools ?? [])
  const settings = { model, instructions, toolbox, ...readLimits(options) }
  const running = new Map<string, AbortController>()

  function run(parts: readonly Part[], given: Given, emit: (event: LoopEvent) => void): Promise<void> {
    if (given.turn || !telemetry) return work(parts, given, given.turn, emit)
    return watchedLoop({ telemetry, name }, given, emit, (watcher, told) => work(parts, given, watcher, told))
  }

  async function work(
    parts: readonly Part[],
    given: Given,
    watcher: Watcher | undefined,
    emit: (event: LoopEvent) => void,
  ) {
    const voice = createAgentEvents(given)
    try {
      const report = (error: unknown) => onError?.(error, given)
      const asked = { ...settings, history: history && (() => history(given)), report, watcher }
      await runLoop(parts, given, asked, emit)
    } catch (error) {
      if (given.signal.aborted) return emit(voice.status('canceled'))
      onError?.(error, given)
      // What a provider says of its errors is not for callers: it may tell addresses and keys.
      emit(voice.status('failed', error instanceof A2AError ? error.message : 'The model could not be asked.'))
    }
  }

  function invoke(parts: readonly Part[], invocation: Invocation): Observable<LoopEvent> {
    const told = new Observable<LoopEvent>((subscriber) => {
      const { taskId } = invocation
      const controller = new AbortController()
      // Of a turn that is resumed the first part was left where it was, and what it has begun goes on.
      if (!invocation.journal) running.get(taskId)?.abort('invoked again')
      makeRoom(running)
      running.set(taskId, controller)
      const signal = invocation.signal ? AbortSignal.any([controller.signal, invocation.signal]) : controller.signal
      void run(parts, { ...invocation, signal }, (event) => subscriber.next(event)).finally(() => {
        if (running.get(taskId) === controller) running.delete(taskId)
        subscriber.complete()
      })
      return () => controller.abort('left')
    })
    return operators.reduce((events, operator) => operator(events), told)
  }

  return {
    extensions: [clientToolsExtension],
    invoke,
    async invokeSync(parts, invocation) {
      return collect(await lastValueFrom(invoke(parts, invocation).pipe(toArray())))
    },
    cancel(taskId) {
      const controller = running.get(taskId)
      controller?.abort()
      return controller !== undefined
    },
  }
}

function readLimits(options: AgentLoopOptions) {
  const limits = { ...defaults }
  for (const name of Object.keys(defaults) as (keyof typeof defaults)[]) {
    const value = options[name] ?? defaults[name]
    if (typeof value !== 'number' || !(value >= 0)) {
      throw new TypeError(`createAgentLoop(): expected ${name} to be a number from 0 on, got ${JSON.stringify(value)}`)
    }
    limits[name] = value
  }
  return { ...limits, onInputTimeout: options.onInputTimeout ?? ('fail' as const) }
}

const defaults = {
  maxSteps: 16,
  maxToolCalls: 64,
  toolTimeout: 60_000,
  modelTimeout: 120_000,
  modelRetries: 2,
  maxTextLength: 1_000_000,
  inputTimeout: 300_000,
  historyTokens: 8_000,
}

type Given = Invocation & { readonly signal: AbortSignal }

function makeRoom(running: Map<string, AbortController>): void {
  const [oldest] = running.keys()
  if (running.size >= maxRunning && oldest !== undefined) running.delete(oldest)
}

/** What events come to: the last status, and the artifacts as a whole. */
function collect(events: readonly LoopEvent[]): { status: TaskStatus; artifacts: readonly Artifact[] } {
  let status: TaskStatus = { state: 'completed', timestamp: toTimestamp() }
  const artifacts = new Map<string, Artifact>()
  for (const event of events) {
    if (event.type === 'status') {
      status = event.status
      continue
    }
    const { artifact, append } = event
    const begun = append ? artifacts.get(artifact.artifactId) : undefined
    const parts = begun ? [...begun.parts, ...artifact.parts] : artifact.parts
    artifacts.set(artifact.artifactId, { ...begun, ...artifact, parts })
  }
  return { status, artifacts: [...artifacts.values()] }
}
