import type { LanguageModelV4 } from '@ai-sdk/provider'
import { lastValueFrom, type MonoTypeOperatorFunction, Observable, toArray } from 'rxjs'
import { createVoice } from '../agent/voice.ts'
import type { Invocation } from '../agent/work.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Artifact, Message, Part, TaskStatus } from '../protocol/model.ts'
import { collect } from './collect.ts'
import { converse, type LoopEvent } from './converse.ts'
import type { Tool } from './tool.ts'
import { createToolbox, type ToolSource } from './toolbox.ts'

export interface AgentLoopOptions {
  /** Of any provider of the AI SDK. */
  readonly model: LanguageModelV4
  readonly instructions?: string
  readonly tools?: readonly (Tool | ToolSource)[]
  /** Everything that is told goes through them, in this order: handlers (`tap`), transformers (`map`), filters… */
  readonly operators?: readonly MonoTypeOperatorFunction<LoopEvent>[]
  /** What was said before in this context. What was said in the task by default. */
  readonly history?: (invocation: Invocation) => readonly Message[] | Promise<readonly Message[]>
  /** Tokens of history that the model is given, as estimated. 8000 by default. */
  readonly historyTokens?: number
  /** How often the model is asked for one message. 16 by default. */
  readonly maxSteps?: number
  /** How many tools are called for one message. 64 by default. */
  readonly maxToolCalls?: number
  /** Milliseconds that a tool may take. 60 seconds by default. */
  readonly toolTimeout?: number
  /** Told what went wrong. The caller is not. */
  readonly onError?: (error: unknown, invocation: Invocation) => void
}

/** Model → tool calls → results → model, until done. `agent(card, loop)` makes an agent of it. */
export interface AgentLoop {
  /** Starts when it is subscribed to; whoever unsubscribes stops it. */
  invoke(parts: readonly Part[], invocation: Invocation): Observable<LoopEvent>
  invokeSync(parts: readonly Part[], invocation: Invocation): Promise<LoopOutcome>
  /** Whether there was something to cancel. */
  cancel(taskId: string): boolean
}

export interface LoopOutcome {
  readonly status: TaskStatus
  readonly artifacts: readonly Artifact[]
}

export function createAgentLoop(options: AgentLoopOptions): AgentLoop {
  const { model, instructions, operators = [], history, onError } = options
  const { maxSteps = 16, maxToolCalls = 64, toolTimeout = 60_000, historyTokens = 8_000 } = options
  const toolbox = createToolbox(options.tools ?? [])
  const settings = { model, instructions, toolbox, maxSteps, maxToolCalls, toolTimeout, historyTokens }
  const running = new Map<string, AbortController>()

  async function run(
    parts: readonly Part[],
    given: Invocation & { signal: AbortSignal },
    emit: (event: LoopEvent) => void,
  ) {
    const voice = createVoice(given)
    try {
      const said = history ? await history(given) : (given.history ?? [])
      const report = (error: unknown) => onError?.(error, given)
      await converse(parts, { ...given, history: said }, { ...settings, report }, emit)
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
      running.get(taskId)?.abort()
      running.set(taskId, controller)
      const signal = invocation.signal ? AbortSignal.any([controller.signal, invocation.signal]) : controller.signal
      void run(parts, { ...invocation, signal }, (event) => subscriber.next(event)).finally(() => {
        if (running.get(taskId) === controller) running.delete(taskId)
        subscriber.complete()
      })
      return () => controller.abort()
    })
    return operators.reduce((events, operator) => operator(events), told)
  }

  return {
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
