import type { JsonObject } from '../base/json.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { CredentialProvider } from '../protocol/credentials.ts'
import type { ErrorCode } from '../protocol/errors.ts'
import type { StreamEvent } from '../protocol/events.ts'
import type { TaskState } from '../protocol/model.ts'
import type { Reply } from '../protocol/reply.ts'
import type { Service } from '../protocol/service.ts'
import type { Content } from './content.ts'

/** Why a call to another agent failed. */
export interface CallFailure {
  /** The name of the agent, or the address under which it was called. */
  readonly agent: string
  /** What happened, in the other agent's words, with the secrets redacted that it was sent. For the calling agent. */
  readonly message: string
  readonly code?: ErrorCode | undefined
  /** The final state of the other agent's task, if it ended. */
  readonly state?: TaskState | undefined
  readonly taskId?: string | undefined
  /** Why nothing was sent (`loop`, `too-deep`, `past-deadline`, `out-of-budget`, `too-many`), or `canceled` or `timeout`. */
  readonly reason?: string | undefined
}

/** Thrown when a called agent gives no answer. The caller of this agent gets `callerText`, and never the message. */
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

  /** The text for the caller of this agent. */
  get callerText(): string {
    const cause = this.state ?? this.reason ?? this.code
    return `The agent "${this.agent}", which was asked for help, gave no answer${cause ? ` (${cause})` : ''}.`
  }
}

/** An agent in this process, as `agent(…)` returns it. */
export interface LocalTarget {
  readonly fetch: (request: Request) => Promise<Response>
}

/** A connected agent. A `Client` of `parley-a2a/client` is one. */
export interface CalledAgent {
  readonly card: AgentCard
  readonly service: Service
}

/** An agent to call: an address, a card, an agent in this process, or a connected client with its credentials. */
export type CallTarget = string | URL | AgentCard | JsonObject | LocalTarget | CalledAgent

export interface ReachOptions {
  readonly auth?: readonly CredentialProvider[]
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  /** Whether agents on this machine may be called, unless `fetch` decides it. Defaults to whether the target is one. */
  readonly loopback?: 'allow' | 'refuse'
  /** Call it with every secret before it is sent, so that the runtime redacts it in everything stored and shown. */
  readonly onSecret: (secret: string) => void
}

/** Resolves a target to an agent that is called with these credentials. */
export type ResolveAgent = (target: Exclude<CallTarget, CalledAgent>, options: ReachOptions) => Promise<CalledAgent>

/** Options of `turn.call`. */
export interface AgentCallOptions {
  /** Names the call in the journal of a durable turn. Defaults to its number and the name of the agent. */
  readonly name?: string
  /** Continues a conversation; `new` starts one. Defaults to the last one with this agent in the context of the turn. */
  readonly contextId?: string | 'new'
  /** Continues a task of the other agent. */
  readonly taskId?: string
  /** The id of the skill to use. */
  readonly skill?: string
  /** The metadata of the message. */
  readonly metadata?: JsonObject
  /** Media types that this agent accepts in the answer. */
  readonly acceptedOutputModes?: readonly string[]
  /** Instead of the agent's own, such as `[bearer(() => turn.delegate('https://files.example.com', ['read']))]`. */
  readonly auth?: readonly CredentialProvider[]
  /** Additional headers, on transports that have headers. */
  readonly headers?: Readonly<Record<string, string>>
  /** Timeout in milliseconds. The other agent gets it as a deadline. */
  readonly timeout?: number
  /** How many calls the other agent may make. Defaults to half of what is left, if the turn has a budget. */
  readonly budget?: number
  /** Aborts the call, and cancels the other agent's task. So does the signal of the turn. */
  readonly signal?: AbortSignal
  /** What the caller sees of the other agent's progress: `status`, `all` (with artifacts) or `none`. Defaults to `status`. */
  readonly relay?: 'status' | 'all' | 'none'
}

/**
 * The answer of another agent, as `turn.call` resolves with it: the reply that `client.send` returns, with the name of the
 * agent. Of the history of its task, only the last message of the agent is kept.
 */
export type CallAnswer = Reply & { readonly agent: string }

/** Await it for the answer. Iterate over it for the events until then. */
export type AgentCall = Promise<CallAnswer> & AsyncIterable<StreamEvent>

/** Calls another agent. */
export type CallAgent = (agent: CallTarget, message: Content, options?: AgentCallOptions) => AgentCall

/** The arguments of one of several calls. */
export type CallSpec = readonly [agent: CallTarget, message: Content, options?: AgentCallOptions]

/** Options of `turn.callAll` and `turn.callFirst`. Those of a call apply to each one; its own options take precedence. */
export interface FanOutOptions extends Omit<AgentCallOptions, 'name'> {
  /** How many calls run at the same time. Defaults to 4. */
  readonly concurrency?: number
}

/** How one of several calls ended. */
export type CallOutcome =
  | { readonly ok: true; readonly answer: CallAnswer }
  | { readonly ok: false; readonly error: CallFailed }

export interface AgentCalls {
  readonly call: CallAgent
  /** Makes all calls, and resolves with all answers and failures in the order of the calls. */
  callAll(calls: readonly CallSpec[], options?: FanOutOptions): Promise<readonly CallOutcome[]>
  /** Makes all calls, resolves with the first answer, and cancels the others. Throws if no agent answers. */
  callFirst(calls: readonly CallSpec[], options?: FanOutOptions): Promise<CallAnswer>
}
