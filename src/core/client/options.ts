import type { Backoff } from '../base/backoff.ts'
import type { JsonObject } from '../base/json.ts'
import type { Binding, FileBytes } from '../dialects/dialect.ts'
import type { DialectName } from '../dialects/versions.ts'
import type { Fetch } from '../http/fetch.ts'
import type { AgentCard } from '../protocol/card.ts'
import type { CredentialProvider } from '../protocol/credentials.ts'
import type { Call, ListTasksRequest, Service } from '../protocol/service.ts'
import type { AnswerLimits, WireClientOptions } from '../transports/client/http-client.ts'
import type { Authorize } from './credentials/authorize.ts'
import type { PollOptions } from './resilience/poll.ts'

/** Information about a call that did not fail. Each notice is emitted once per client, stream or cause. */
export type Notice =
  /** A stream was resumed at an agent that does not number its events, so events may be missing. */
  | { readonly type: 'best-effort'; readonly taskId: string; readonly message: string }
  /** A stream broke and was resumed. */
  | { readonly type: 'resumed'; readonly taskId: string; readonly tries: number; readonly message: string }
  /** The agent does not stream, whatever its card says, so the client polls the task. */
  | { readonly type: 'polling'; readonly message: string }
  /** The endpoint of the card does not work, but another one does. */
  | { readonly type: 'fallback-endpoint'; readonly message: string; readonly hint: string }
  /** Events were held back on their way and arrived all at once. */
  | { readonly type: 'buffered'; readonly message: string; readonly hint: string }

export type Notify = (notice: Notice) => void

/** An agent in this process, such as `agent(…)` itself or `createHandler(agent)`: no socket is opened. */
export interface Local {
  readonly fetch: (request: Request) => Promise<Response>
}

/**
 * The agent to connect to: an origin such as `https://agent.example.com` or `localhost:4000`, a URL below which an agent is mounted, the URL
 * of a card, a file with a card (`./card.json`, `file:…`), a card, or an agent in this process.
 */
export type Target = string | URL | AgentCard | JsonObject | Local

/** A binding that is not part of the client, such as `grpc()` of `parley-a2a/node`. */
export interface Transport {
  readonly binding: Binding
  readonly fetch: Fetch
  readonly open: (options: WireClientOptions) => Service
  /** Turns an address of a card into a URL, if the two differ. `cardUrl` is where the card was found. */
  readonly addressOf?: (address: string, cardUrl: string | undefined) => string
}

/** A card as it was last fetched from its URL. */
export interface CachedCard {
  readonly etag: string
  readonly wire: JsonObject
}

/** Cards by their URLs. Every connection revalidates its card, but an unchanged one is not sent again (RFC 9110 §13.1.2). */
export interface CardCache {
  get(url: string): CachedCard | undefined
  set(url: string, card: CachedCard): void
}

/**
 * Verifies a card; called for every card, including the extended one. Throws to reject the card, which is then neither
 * used nor cached. May return the verified part of the card, which is used instead.
 */
export type VerifyCard = (wire: JsonObject) => VerifiedCard | Promise<VerifiedCard>

// biome-ignore lint/suspicious/noConfusingVoidType: a verifier that only throws returns nothing.
type VerifiedCard = JsonObject | undefined | void

/** Options of `connect`. None is required. */
export interface ConnectOptions extends AnswerLimits {
  /** Defaults to the global `fetch`; on Node, to one that calls public addresses only. */
  readonly fetch?: Fetch
  /** The available credentials, by `parley-a2a/client/auth`. The card decides which ones are used. */
  readonly auth?: readonly CredentialProvider[]
  /** Returns the credentials for a request. Replaces `auth`. */
  readonly authorize?: Authorize
  /** Called with information about calls that did not fail. */
  readonly onNotice?: (notice: Notice) => void
  /** Timeout of a unary call in milliseconds, including its retries. Defaults to 60 seconds. */
  readonly timeout?: number
  /** How failed calls are retried. Defaults to 3 tries, and to tries until `timeout` if the connection broke. */
  readonly retry?: Partial<Backoff>
  /** How broken streams are resumed. Defaults to 8 tries in a row, and to tries until `timeout` if the call has one. */
  readonly resume?: Partial<Backoff>
  /** How often tasks of agents that do not stream are polled. */
  readonly polling?: Partial<PollOptions>
  /**
   * Whether the agent treats two sends of one message under one `Idempotency-Key` as one, so that a send without an
   * answer may be repeated. Defaults to whether the card declares it (`https://parley.dev/ext/idempotency/v1`), or the
   * agent numbers the events of its streams.
   */
  readonly peerDeduplicates?: boolean
  /** The versions to speak. Defaults to all. */
  readonly dialects?: readonly DialectName[]
  /** The bindings to use, such as `['JSONRPC', grpc()]`. Defaults to JSON-RPC and REST, in the order of the card. */
  readonly bindings?: readonly (Binding | Transport)[]
  /** URIs of the extensions to activate. */
  readonly extensions?: readonly string[]
  /**
   * How agents of 0.3 ProtoJSON and gRPC write and read the bytes of files: as the proto says (`raw`), or as a base64 text
   * in their place (`base64`). By default, the agent is recognised: see `explain()`.
   */
  readonly fileBytes?: FileBytes
  /** Defaults to one cache for the whole process; cards that need credentials are not cached then. */
  readonly cardCache?: CardCache
  /** Verifies every card, for example by its signatures: see `createCardVerifier` of `parley-a2a/auth`. */
  readonly verifyCard?: VerifyCard
  /** Wraps the service to observe its calls: see `observeClient` of `parley-a2a/telemetry`. */
  readonly watch?: (service: Service, card: AgentCard) => Service
  /** Aborts the search for the card. */
  readonly signal?: AbortSignal
}

/** Options of one call. */
export interface CallOptions {
  /** Aborts the call. A task that it started continues. */
  readonly signal?: AbortSignal
  /** Timeout in milliseconds. Streams have none by default. */
  readonly timeout?: number
  /** Headers of the request, such as `traceparent`. */
  readonly headers?: Readonly<Record<string, string>>
}

/** A call with its own timeout. */
export interface CallWithTimeout extends Call {
  readonly timeout?: number
}

/** The tasks to list. */
export type TaskFilter = Omit<ListTasksRequest, 'pageToken' | 'tenant'>
