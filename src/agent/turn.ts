import type { Json, JsonObject } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import type { Trace } from '../base/trace-context.ts'
import type { MessageEvent } from '../protocol/events.ts'
import type { Lineage } from '../protocol/extensions/lineage.ts'
import type { Message, Principal, Task } from '../protocol/model.ts'
import type { Activity, Span } from '../protocol/telemetry.ts'
import { type Ask, type AskCaller, answerOf, createAsk } from './ask.ts'
import type { AgentCalls, CallAgent } from './call-agent.ts'
import type { RequireAuth } from './require-auth.ts'
import { type Content, createAgentEvents, createTurnOutput, type EventSink, type TurnOutput } from './turn-output.ts'

/**
 * One message being answered: what an author works with. Whatever touches the task (status, artifact, data, file, ask,
 * requireInput, fail, reject) makes it a task. The promises resolve when the event is stored; awaiting them carries
 * the store's back-pressure to the agent.
 */
export interface Turn extends TurnOutput, AgentCalls {
  readonly taskId: string
  readonly contextId: string
  /** The text of the message. */
  readonly text: string
  readonly message: Message
  /** The task as it was when the turn began; undefined if this message is the first of it. */
  readonly task: Task | undefined
  /** What was said in this task before this message, oldest first. */
  readonly history: readonly Message[]
  /** What the caller sent beside the message. */
  readonly metadata: JsonObject
  /** Media types that the caller can use; empty means any. */
  readonly acceptedOutputModes: readonly string[]
  /** Those of the agent's extensions that the caller has asked for, by their URIs. */
  readonly extensions: readonly string[]
  readonly principal: Principal
  /** 1, unless the process that answered this message before is gone and the agent's policy is to try again. */
  readonly attempt: number
  /** Aborts on cancel, deadline, loss of the lease, and shutdown. What is emitted after that may not be stored. */
  readonly signal: AbortSignal
  readonly log: Logger
  /** Which agents stand behind the caller, and what they allow. */
  readonly lineage: Lineage
  /**
   * Where the turn is in the trace of its caller (W3C Trace Context), for what it asks for help by other ways than
   * `turn.call`, which tells it by itself. Undefined if the caller told none, and nobody watches.
   */
  readonly trace: Trace | undefined
  /** Asks a model or runs a tool so that whoever watches the agent sees it. If nobody does, it is just done. */
  observe<T>(activity: Extract<Activity, { type: 'model' | 'tool' }>, work: (span?: Span) => Promise<T>): Promise<T>

  /**
   * Asks another agent and gives its answer. With the policy `resume`, a turn that is resumed goes on with the same task
   * of the other agent. What that one asks for goes to our caller, and the answer to it.
   */
  readonly call: CallAgent
  /** Pauses until there are credentials, and gives them. */
  readonly requireAuth: RequireAuth
  /**
   * A token for another service in the name of the caller, in exchange for the one with which it came (RFC 8693). Never
   * stored: ask again instead of keeping it.
   */
  delegate(audience: string, scopes?: readonly string[]): Promise<string>

  /** Asks the caller and waits for the answer, within this turn. */
  readonly ask: Ask
  /**
   * Does a piece of work and gives what it returns, which must be JSON. With the policy `resume` it is stored, and
   * never done again by a turn that is resumed. What the work has to say meanwhile, it says by what it is given.
   */
  step<T>(name: string, work: (within: TurnOutput) => T | Promise<T>): Promise<T>
  /** Asks the caller and leaves it there: the answer begins a new turn. Return after it. */
  requireInput(question: Content): Promise<void>
  fail(reason: Content): Promise<void>
  reject(reason: Content): Promise<void>
}

/** What the runtime gives to a turn. */
export interface TurnContext extends EventSink {
  readonly taskId: string
  readonly contextId: string
  readonly messageEvent: MessageEvent
  readonly attempt: number
  /** Milliseconds since 1970, by the clock of the runtime. */
  readonly now: () => number
  readonly task: Task | undefined
  readonly history: readonly Message[]
  readonly signal: AbortSignal
  readonly log: Logger
  readonly step: (name: string, work: (within: EventSink) => unknown) => Promise<Json | undefined>
  readonly ask: AskCaller
  readonly lineage: Lineage
  readonly trace: Trace | undefined
  readonly observe: Turn['observe']
  /** Made when they are needed: most turns ask nobody. */
  readonly calls: () => AgentCalls
  readonly requireAuth: RequireAuth
  readonly delegate: Turn['delegate']
}

export function createTurn(context: TurnContext): Turn {
  const { taskId, contextId, messageEvent } = context

  const voice = createAgentEvents(context, context.now)
  const { status, artifact, data, file } = createTurnOutput(voice, context)

  return {
    taskId,
    contextId,
    ...answerOf(messageEvent),
    task: context.task,
    history: context.history,
    acceptedOutputModes: messageEvent.acceptedOutputModes ?? [],
    extensions: messageEvent.extensions ?? [],
    attempt: context.attempt,
    signal: context.signal,
    log: context.log,
    lineage: context.lineage,
    trace: context.trace,
    observe: context.observe,
    call: (agent, message, options) => context.calls().call(agent, message, options),
    callAll: (calls, options) => context.calls().callAll(calls, options),
    callFirst: (calls, options) => context.calls().callFirst(calls, options),
    requireAuth: context.requireAuth,
    delegate: context.delegate,
    status,
    artifact,
    data,
    file,
    ask: createAsk(context, voice),
    async step<T>(name: string, work: (within: TurnOutput) => T | Promise<T>) {
      requireStep(name, work)
      // What the work returned, as JSON brings it back.
      return (await context.step(name, (within) => work(createTurnOutput(voice, within)))) as T
    },
    requireInput: (question) => status('input-required', question),
    fail: (reason) => status('failed', reason),
    reject: (reason) => status('rejected', reason),
  }
}

function requireStep(name: unknown, work: unknown): void {
  if (typeof name !== 'string' || name === '') {
    throw new TypeError(`turn.step(): expected a name that is not empty, got ${JSON.stringify(name)}`)
  }
  if (typeof work !== 'function') throw new TypeError(`turn.step(${name}): expected a function, got ${typeof work}`)
}
