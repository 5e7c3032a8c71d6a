import type { Backoff } from '../base/backoff.ts'
import type { JsonObject } from '../base/json.ts'
import type { Binding, DialectName } from '../dialects/dialect.ts'
import type { Fetch } from '../http/fetch.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { CredentialProvider } from '../protocol/principal.ts'
import type { ListTasksRequest, Service } from '../protocol/service.ts'
import type { AnswerLimits, WireClientOptions } from '../transports/client/options.ts'
import type { CardCache } from './card-cache.ts'
import type { Authorize } from './credentials/authorize.ts'
import type { PollOptions } from './resilience/poll.ts'
import type { VerifyCard } from './verify-card.ts'

/** What a caller may want to know although nothing failed. Each is told once per client, stream or cause. */
export type Notice =
  /** A stream was resumed at an agent that does not number its events: some between may be missing. */
  | { readonly type: 'best-effort'; readonly taskId: string; readonly message: string }
  /** A stream broke and goes on. */
  | { readonly type: 'resumed'; readonly taskId: string; readonly tries: number; readonly message: string }
  /** The agent does not stream what its card may promise: the task is asked for again and again instead. */
  | { readonly type: 'polling'; readonly message: string }
  /** The card did not lead to the agent, but something else did. */
  | { readonly type: 'fallback-endpoint'; readonly message: string; readonly hint: string }
  /** Events were held back on their way and came all at once. */
  | { readonly type: 'buffered'; readonly message: string; readonly hint: string }

export type Notify = (notice: Notice) => void

/** Such as `agent(…)` itself, or the handler of `createHandler(agent)`: no socket is opened. */
export interface Local {
  readonly fetch: (request: Request) => Promise<Response>
}

/**
 * Whom to talk to: an origin such as `https://agent.example.com`, where an agent is mounted below one, the address of
 * a card, a file with a card (`./card.json`, `file:…`), a card, or an agent in this process that speaks `fetch`.
 */
export type Target = string | URL | AgentCard | JsonObject | Local

/** A binding that is not part of the client, and what it needs to get to an agent. */
export interface Transport {
  readonly binding: Binding
  readonly fetch: Fetch
  readonly open: (options: WireClientOptions) => Service
  /** The URL of what a card has as an address, if that need not be one. `cardUrl` is where the card was found. */
  readonly addressOf?: (address: string, cardUrl: string | undefined) => string
}

export interface ConnectOptions extends AnswerLimits {
  /** The global one by default. */
  readonly fetch?: Fetch
  /** What there is of credentials, by `parley-a2a/client/auth`; the card decides which are used. */
  readonly auth?: readonly CredentialProvider[]
  /** Gives the credentials for a request, instead of `auth`. */
  readonly authorize?: Authorize
  /** Told what is worth knowing although nothing failed. */
  readonly onNotice?: (notice: Notice) => void
  /** Milliseconds that a call with one answer may take, with all its tries. 60 seconds by default. */
  readonly timeout?: number
  /** How calls are tried again. 3 tries by default. */
  readonly retry?: Partial<Backoff>
  /** How streams are opened again. 8 tries in a row by default. */
  readonly resume?: Partial<Backoff>
  /** How often a task is asked for, of agents that do not stream. */
  readonly polling?: Partial<PollOptions>
  /**
   * Whether the agent takes two sends of one message under one `Idempotency-Key` for one, so that a send that got no
   * answer may be sent again. By default an agent is believed to if it numbers the events of its streams.
   */
  readonly peerDeduplicates?: boolean
  /** The versions to speak. All by default. */
  readonly dialects?: readonly DialectName[]
  /** The bindings to use, such as `['JSONRPC', grpc()]`. JSON-RPC and REST by default, in the order of the card. */
  readonly bindings?: readonly (Binding | Transport)[]
  /** Extensions to activate, by their URIs. */
  readonly extensions?: readonly string[]
  /** Where cards are kept. One for the whole process by default. */
  readonly cardCache?: CardCache
  /** Says what of a card is to be believed, as `cardVerifier` of `parley-a2a/auth` does by its signatures. */
  readonly verifyCard?: VerifyCard
  /** Watches the calls, as `watchClient(…)` of `parley-a2a/telemetry` does, and puts them into the trace at hand. */
  readonly watch?: (service: Service, card: AgentCard) => Service
  readonly signal?: AbortSignal
}

/** Of one call. */
export interface CallOptions {
  readonly signal?: AbortSignal
  /** Milliseconds. Streams have none unless it is given here. */
  readonly timeout?: number
  /** Said beside the request, such as `traceparent`. */
  readonly headers?: Readonly<Record<string, string>>
}

/** Which tasks are listed. */
export type TaskFilter = Omit<ListTasksRequest, 'pageToken' | 'tenant'>
