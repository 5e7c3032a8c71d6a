import type { Json, JsonObject } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import type { Trace } from '../base/trace-context.ts'
import type { MessageEvent } from '../protocol/events.ts'
import type { Lineage } from '../protocol/extensions/lineage.ts'
import { type Message, type Principal, type Task, textOf } from '../protocol/model.ts'
import type { Activity, Span } from '../protocol/telemetry.ts'
import { type Ask, type AskCaller, type AskOptions, ask } from './ask.ts'
import type { AgentCalls, CallAgent } from './call-agent.ts'
import type { Content } from './content.ts'
import type { RequireAuth } from './require-auth.ts'
import { type AgentEvents, createTurnOutput, type EventSink, type TurnOutput } from './turn-output.ts'

/**
 * The handling of one message, and what an agent can do during it. Every method that emits an event (status, artifact,
 * data, file, ask, requireInput, fail, reject) turns the exchange into a task. The promises resolve when the event is
 * stored; awaiting them slows the agent down to the speed of the store.
 */
export interface Turn extends TurnOutput, AgentCalls {
  readonly taskId: string
  readonly contextId: string
  /** The text of the message. */
  readonly text: string
  readonly message: Message
  /** The task before this message. Undefined for the first message of a task. */
  readonly task: Task | undefined
  /** The earlier messages of this task, oldest first. */
  readonly history: readonly Message[]
  /** The metadata of the request. */
  readonly metadata: JsonObject
  /** The media types that the caller accepts. Empty means any. */
  readonly acceptedOutputModes: readonly string[]
  /** The URIs of the agent's extensions that the caller has activated. */
  readonly extensions: readonly string[]
  readonly principal: Principal
  /** 1, and more if a process stopped while it answered this message and the recovery policy repeats the turn. */
  readonly attempt: number
  /** Aborts on cancellation, deadline, loss of the lease and shutdown. Events emitted after that may not be stored. */
  readonly signal: AbortSignal
  readonly log: Logger
  /** The agents on whose behalf the caller acts, and the limits that they set. */
  readonly lineage: Lineage
  /**
   * The position of the turn in its trace (W3C Trace Context), for requests outside of `turn.call`, which sends it by
   * itself. Undefined if neither the caller nor the telemetry has a trace.
   */
  readonly trace: Trace | undefined
  /** Reports a model request or a tool call to the telemetry. Without telemetry, it only runs the work. */
  observe<T>(activity: Extract<Activity, { type: 'model' | 'tool' }>, work: (span?: Span) => Promise<T>): Promise<T>

  /**
   * Calls another agent and resolves with its answer. The other agent's questions go to the caller of this agent, and
   * the answers back. With the recovery policy `resume`, a resumed turn continues the same task of the other agent.
   */
  readonly call: CallAgent
  /** Waits for credentials and resolves with them. */
  readonly requireAuth: RequireAuth
  /**
   * Exchanges the caller's token for one to call another service on its behalf (RFC 8693). The token is never stored:
   * call this again instead of keeping it.
   */
  delegate(audience: string, scopes?: readonly string[]): Promise<string>

  /** Asks the caller a question and waits for the answer within this turn. */
  readonly ask: Ask
  /**
   * Runs a piece of work and resolves with its result, which must be JSON. With the recovery policy `resume`, the result
   * is stored, and a resumed turn does not run the work again. The work emits events through its argument.
   */
  step<T>(name: string, work: (output: TurnOutput) => T | Promise<T>): Promise<T>
  /** Asks the caller a question and ends the turn: return after it. The answer starts a new turn. */
  requireInput(question: Content): Promise<void>
  fail(reason: Content): Promise<void>
  reject(reason: Content): Promise<void>
}

/** What the runtime provides for a turn. */
export interface TurnContext extends EventSink {
  readonly taskId: string
  readonly contextId: string
  readonly messageEvent: MessageEvent
  readonly attempt: number
  /** Milliseconds since 1970, by the clock of the runtime. */
  readonly now: () => number
  readonly agentEvents: AgentEvents
  readonly task: Task | undefined
  readonly history: readonly Message[]
  readonly signal: AbortSignal
  readonly log: Logger
  readonly step: (name: string, work: (sink: EventSink) => unknown) => Promise<Json | undefined>
  readonly ask: AskCaller
  readonly lineage: Lineage
  readonly trace: Trace | undefined
  readonly observe: Turn['observe']
  /** Created on first use: most turns call no other agent. */
  readonly calls: () => AgentCalls
  readonly requireAuth: RequireAuth
  readonly delegate: Turn['delegate']
}

export function createTurn(context: TurnContext): Turn {
  const { messageEvent, agentEvents } = context
  const { message, metadata = {}, principal, acceptedOutputModes = [], extensions = [] } = messageEvent
  const { status, artifact, data, file } = createTurnOutput(agentEvents, context)

  return {
    taskId: context.taskId,
    contextId: context.contextId,
    text: textOf(message),
    message,
    metadata,
    principal,
    task: context.task,
    history: context.history,
    acceptedOutputModes,
    extensions,
    attempt: context.attempt,
    signal: context.signal,
    log: context.log,
    lineage: context.lineage,
    trace: context.trace,
    observe: context.observe,
    call: (agent, content, options) => context.calls().call(agent, content, options),
    callAll: (calls, options) => context.calls().callAll(calls, options),
    callFirst: (calls, options) => context.calls().callFirst(calls, options),
    requireAuth: context.requireAuth,
    delegate: context.delegate,
    status,
    artifact,
    data,
    file,
    // The two signatures of `Ask` differ only in their types.
    ask: ((question: Content, options?: AskOptions) => ask(context, question, options)) as Ask,
    async step<T>(name: string, work: (output: TurnOutput) => T | Promise<T>) {
      checkStep(name, work)
      // A result has the same type when it is read from the journal.
      return (await context.step(name, (sink) => work(createTurnOutput(agentEvents, sink)))) as T
    },
    requireInput: (question) => status('input-required', question),
    fail: (reason) => status('failed', reason),
    reject: (reason) => status('rejected', reason),
  }
}

function checkStep(name: unknown, work: unknown): void {
  if (typeof name !== 'string' || name === '') {
    throw new TypeError(`turn.step(): expected a name that is not empty, got ${JSON.stringify(name)}`)
  }
  if (typeof work !== 'function') throw new TypeError(`turn.step(${name}): expected a function, got ${typeof work}`)
}
