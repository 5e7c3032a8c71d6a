import type { JsonObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { ErrorCode } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { Artifact, Message, Task, TaskState } from '../protocol/model.ts'
import type { CredentialProvider } from '../protocol/principal.ts'
import type { Service } from '../protocol/service.ts'
import type { Content } from './turn-output.ts'

export interface CallFailure {
  /** The name of the agent, or what it was called by. */
  readonly agent: string
  /** What happened, for the one who asked: with the other agent's own words, but none of the secrets it was sent. */
  readonly message: string
  readonly code?: ErrorCode
  /** How the other agent's task ended, if it came to that. */
  readonly state?: TaskState
  readonly taskId?: string
  /** Why nothing was sent: `loop`, `too-deep`, `past-deadline`, `out-of-budget`; or `canceled`, `timeout`. */
  readonly reason?: string
}

/** An agent that was asked gave no answer. What it said of it is not for our own callers, and is not shown to them. */
export class CallFailed extends Error implements CallFailure {
  override readonly name = 'CallFailed'
  readonly agent: string
  readonly code: ErrorCode | undefined
  readonly state: TaskState | undefined
  readonly taskId: string | undefined
  readonly reason: string | undefined

  constructor({ agent, message, code, state, taskId, reason }: CallFailure) {
    super(message)
    this.agent = agent
    this.code = code
    this.state = state
    this.taskId = taskId
    this.reason = reason
  }

  /** For whoever called us. */
  get callerText(): string {
    const word = this.state ?? this.reason ?? this.code
    return `The agent "${this.agent}", which was asked for help, gave no answer${word ? ` (${word})` : ''}.`
  }
}

/** Such as `agent(…)` itself. */
export interface LocalTarget {
  readonly fetch: (request: Request) => Promise<Response>
}

/** An agent that can be asked. A `Client` of `parley-a2a/client` is one. */
export interface CalledAgent {
  readonly card: AgentCard
  readonly service: Service
}

/**
 * Whom to ask: an address, a card, an agent in this process that speaks `fetch`, or a client that is connected, with
 * the credentials that it has.
 */
export type CallTarget = string | URL | AgentCard | JsonObject | LocalTarget | CalledAgent

export interface ReachOptions {
  readonly auth?: readonly CredentialProvider[]
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Told every secret before it is sent, so that it can be kept out of what is stored and shown. */
  readonly onSecret: (secret: string) => void
}

/** Finds an agent, and asks it with these credentials. */
export type ResolveAgent = (target: Exclude<CallTarget, CalledAgent>, how: ReachOptions) => Promise<CalledAgent>

export interface CallOptions {
  /** Names the call in the journal of a durable turn; by its agent and its place in the turn otherwise. */
  readonly name?: string
  /** Goes on with a conversation. By default with the last one with this agent in the context of the turn. */
  readonly contextId?: string | 'new'
  /** Goes on with a task of the other agent. */
  readonly taskId?: string
  /** The skill that is wanted, by its id. */
  readonly skill?: string
  /** Of the message. */
  readonly metadata?: JsonObject
  /** Instead of the agent's own, such as `[bearer(() => turn.delegate('https://files.example.com', ['read']))]`. */
  readonly auth?: readonly CredentialProvider[]
  /** Sent along where the wire has headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds until the answer is of no use any more; also the other agent is told. */
  readonly timeout?: number
  /** How many calls the other agent may make for it. Half of what is left by default, where there is a budget. */
  readonly budget?: number
  /** Gives the call up, and cancels what the other agent does for it. The turn's own signal does so anyway. */
  readonly signal?: AbortSignal
  /** What of the other agent's progress the caller is told: its status (default), also its artifacts, or nothing. */
  readonly relay?: 'status' | 'all' | 'none'
}

export interface CallAnswer {
  /** The name of the agent. */
  readonly agent: string
  /** The text of the message; or of the artifacts; or, if there is none, of the status. */
  readonly text: string
  readonly artifacts: readonly Artifact[]
  readonly contextId?: string
  /** Without its history. Undefined if the agent answered with a message. */
  readonly task?: Task
  readonly message?: Message
}

/** The answer when it is awaited; what happens meanwhile when it is iterated. */
export type AgentCall = Promise<CallAnswer> & AsyncIterable<StreamEvent>

/** Asks another agent, as the one that this turn is of. */
export type CallAgent = (agent: CallTarget, message: Content, options?: CallOptions) => AgentCall

export type CallSpec = readonly [agent: CallTarget, message: Content, options?: CallOptions]

export interface FanOutOptions {
  /** How many are asked at once. 4 by default. */
  readonly concurrency?: number
}

/** How one of several calls ended. */
export type CallOutcome =
  | { readonly ok: true; readonly answer: CallAnswer }
  | { readonly ok: false; readonly error: CallFailed }

export interface AgentCalls {
  readonly call: CallAgent
  /** Asks all of them, and gives all answers and failures, in the order of the calls. */
  callAll(calls: readonly CallSpec[], options?: FanOutOptions): Promise<readonly CallOutcome[]>
  /** Asks all of them, gives the first answer, and cancels the others. Throws if none answers. */
  callFirst(calls: readonly CallSpec[], options?: FanOutOptions): Promise<CallAnswer>
}
