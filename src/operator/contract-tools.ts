import type { JsonObject } from '../core/base/json.ts'
import type { ProtocolVersion } from '../core/dialects/versions.ts'
import type { Phase } from '../core/protocol/states.ts'
import type { DayUsage } from '../core/tasks/usage-log.ts'
import type { TaskKey } from './contract.ts'

/** `GET /overview?window=hour`: `hour` has a point per minute, `day` one per 15 minutes. */
export type OverviewWindow = 'hour' | 'day'

/** Figures of all agents in a window of time. */
export interface Overview {
  readonly window: OverviewWindow
  /** Of all agents together, and of each. */
  readonly total: AgentOverview
  readonly agents: readonly AgentFigures[]
}

/** Figures of one agent, and how it is. */
export interface AgentFigures extends AgentOverview {
  readonly agent: string
  /** `draining`: it takes no new work, because its server stops. `down`: its store does not answer. */
  readonly health: 'up' | 'draining' | 'down'
  /** When the status of one of its tasks last changed. */
  readonly lastActivity?: number
}

/** `GET /usage?days=30`: what turns reported by `turn.usage`, the newest day first. At most 90 days. */
export interface UsageReport {
  readonly rows: readonly UsageRow[]
}

/** What a caller of an agent used of a model on a day (UTC). */
export interface UsageRow extends DayUsage {
  readonly agent: string
}

/** Figures of one agent, or of all agents together. */
export interface AgentOverview {
  /** Tasks in each state at the moment. */
  readonly tasks: Readonly<Partial<Record<Phase | 'expired', number>>>
  /** Tasks that work without a live lease. */
  readonly stuck: number
  readonly points: readonly OverviewPoint[]
  /** Percentiles of the durations of the tasks that ended in the window. Undefined if none did. */
  readonly durations?: { readonly p50: number; readonly p95: number; readonly p99: number }
  readonly now: {
    /** Tasks that this process works on, messages that wait for them, and leases of all processes. */
    readonly runs: number
    readonly queued: number
    readonly leases: number
  }
  readonly store: { readonly kind: string; readonly bytes?: number; readonly events?: number }
}

/** What happened from `at` on, for the length of a point. */
export interface OverviewPoint {
  readonly at: number
  readonly started: number
  readonly completed: number
  readonly failed: number
  readonly canceled: number
  /** Percentiles of the durations of ended tasks. Undefined if none ended. */
  readonly p50?: number
  readonly p95?: number
  readonly p99?: number
}

/** `POST /wire/compose`: the request that a client of that version would send. */
export interface ComposeRequest {
  readonly agent: string
  readonly dialect: ProtocolVersion
  readonly binding: WireBinding
  /** A name of `Service`, such as `sendMessage`. */
  readonly operation: string
  readonly text?: string
  readonly taskId?: string
  /** For `createPushConfig`: the address of the webhook. */
  readonly webhook?: string
  /** For `getPushConfig` and `deletePushConfig`. */
  readonly configId?: string
}

/** The transports in which a raw request can be composed. */
export type WireBinding = 'JSONRPC' | 'REST' | 'GRPC'

/**
 * A raw request, ready to be edited and sent. `url` is a path of the agent, or the whole address for an agent of another
 * server. For gRPC, `url` is the method and `body` the message as JSON.
 */
export interface WireRequest {
  readonly agent: string
  readonly binding: WireBinding
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** An event of `POST /wire/send`: the answer as it arrives. */
export type WireFrame =
  | { readonly type: 'head'; readonly at: number; readonly status: number; readonly headers: JsonObject }
  | { readonly type: 'chunk'; readonly at: number; readonly text: string }
  /** `error` if the request failed before or within the answer. */
  | { readonly type: 'end'; readonly at: number; readonly error?: string }

/** `POST /connections`: connects to an agent of another server, or again with other credentials. */
export interface ConnectRequest {
  /** The agent: a host, the address of its server, or that of its card. */
  readonly url: string
  /** Headers of every request to the server of the agent. */
  readonly headers?: Readonly<Record<string, string>>
  /** They stay in the memory of the process. */
  readonly credentials?: ConnectCredentials
}

/** Credentials for an agent of another server. The card decides how they are sent. */
export type ConnectCredentials =
  | { readonly type: 'bearer' | 'api-key'; readonly secret: string }
  | { readonly type: 'basic'; readonly user: string; readonly secret: string }
  /** For `oauth2` with the flows for codes and for clients, and for OpenID Connect. */
  | { readonly type: 'oauth'; readonly clientId: string; readonly secret?: string; readonly scopes?: readonly string[] }

/** What became of a connection. */
export type ConnectAnswer =
  | { readonly type: 'connected'; readonly agent: string; readonly violations: readonly string[] }
  /** The operator has to agree at this address. The connection is made when the browser comes back. */
  | { readonly type: 'authorize'; readonly url: string }

/** `GET /connections`: agents that were connected before, the latest first. */
export interface RecentAgents {
  readonly recent: readonly { readonly url: string; readonly name?: string }[]
}

/** What sent a request: the chat and the lists of tasks (`client`), the wire page, or a check. */
export type WireSource = 'client' | 'wire' | 'check'

/** The query of `GET /wire/log`, `/wire/log/changes` and `/wire/har`. */
export interface WireLogQuery {
  readonly agent?: string
  readonly source?: WireSource
  /** A part of the method, the address, the operation, the status, a body or an event, in upper or lower case. */
  readonly search?: string
}

/** `GET /wire/log`: the last requests that this process sent to agents, newest first, at most 500. */
export interface WireLogRows {
  readonly exchanges: readonly WireExchangeRow[]
  /** How many older ones were dropped. */
  readonly dropped: number
}

/** A request to an agent and its answer, without their contents. */
export interface WireExchangeRow {
  /** Counts the exchanges of this process, from 1 on. */
  readonly id: number
  readonly agent: string
  readonly source: WireSource
  readonly at: number
  readonly method: string
  readonly url: string
  /** Undefined for requests that belong to no binding, such as those for cards. */
  readonly binding?: WireBinding
  /** The method of JSON-RPC and gRPC, or the path of REST. */
  readonly operation?: string
  /** The version that the request names. `0.x`: it names none, and its method is one of before 1.0. */
  readonly version?: string
  /** Undefined until the answer begins, and if there is none. */
  readonly status?: number
  /** Undefined while the exchange goes on. */
  readonly duration?: number
  readonly isOpen: boolean
  /** Bytes of the bodies. */
  readonly sent: number
  readonly received: number
  readonly eventCount: number
  /** Why there is no answer, or not all of it. */
  readonly error?: string
}

/** `GET /wire/log/{id}`: a request and its answer as sent and received. Credentials are replaced by `[redacted]`. */
export interface WireExchange extends Omit<WireExchangeRow, 'eventCount'> {
  readonly request: {
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
    /** Set if the body is longer than the 256 KiB that are kept. */
    readonly isShortened?: true
  }
  readonly answer?: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    /** Empty for streams, whose events are in `events`. */
    readonly body: string
    /** Milliseconds until the answer began. */
    readonly firstByte: number
    readonly isShortened?: true
  }
  /** The events of a stream, with the milliseconds since the request. */
  readonly events: readonly { readonly at: number; readonly text: string }[]
}

/** An event of `POST /agents/{agent}/doctor` and `/conformance`. */
export type CheckProgress =
  | { readonly type: 'started'; readonly total?: number }
  /** A probe of the doctor begins. `done` counts the probes before it; `total` is set once the card is read. */
  | { readonly type: 'probe'; readonly title: string; readonly done: number; readonly total?: number }
  /** `done` counts the findings so far. */
  | { readonly type: 'finding'; readonly done: number; readonly finding: Finding }
  | { readonly type: 'done'; readonly report: JsonObject; readonly counts: Readonly<Record<string, number>> }
  | { readonly type: 'failed'; readonly message: string }

/** A finding of the doctor or of the conformance suite. */
export interface Finding {
  readonly id: string
  /** Doctor: `ok`, `info`, `warning` or `error`. Conformance: `passed`, `failed` or `not-measured`. */
  readonly outcome: string
  /** Conformance: MUST, SHOULD or MAY. */
  readonly level?: string
  readonly title: string
  readonly detail?: string
  readonly remedy?: string
  /** Requests and answers, with secrets removed. */
  readonly evidence?: string
}

/** Names a webhook by its task and its id. */
export interface WebhookKey extends TaskKey {
  readonly id: string
}

/** `GET /webhooks?agent=&taskId=&cursor=`. */
export interface WebhookRows {
  readonly webhooks: readonly WebhookRow[]
  readonly next?: string
}

/** A webhook in a list. */
export interface WebhookRow extends WebhookKey {
  readonly url: string
  readonly principal: string
  readonly state: 'active' | 'paused' | 'done'
  readonly problem?: string
  /** The generation up to which every event was delivered or given up. */
  readonly cursor: number
  readonly dead: number
  readonly nextTry?: number
  readonly created: number
}

/** `GET /webhooks/{agent}/{taskId}/{id}/deliveries`. */
export interface DeliveryRows {
  readonly deliveries: readonly DeliveryRow[]
}

/** A delivery of an event to a webhook. */
export interface DeliveryRow {
  readonly deliveryId: string
  readonly generation: number
  readonly outcome: 'delivered' | 'retrying' | 'redriven' | 'dead'
  readonly attempts: number
  readonly at: number
  readonly latency: number
  readonly status?: number
  readonly problem?: string
  readonly nextTry?: number
}

/** `POST /webhooks/{agent}/{taskId}/{id}/pause`, `/resume` and `/redeliver`. */
export interface WebhookChanged {
  readonly webhook: WebhookRow
  /** For `redeliver`: how many deliveries are sent again. */
  readonly redelivered?: number
}

/** `POST /receivers`: a webhook address on this server that keeps the last 100 deliveries for an hour. */
export interface WebhookReceiver {
  readonly id: string
  readonly url: string
  readonly token: string
  readonly expires: number
}

/** An event of `GET /receivers/{id}/deliveries`. */
export interface ReceivedDelivery {
  /** Counts the deliveries to this receiver, from 1 on. */
  readonly number: number
  readonly at: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Set if the body is longer than the 64 KiB that are kept. */
  readonly isShortened?: boolean
  /** Whether its token and its signature, if it has one, are right. */
  readonly verdict: string
}

/** `GET /registry/agents?search=&cursor=`. */
export interface RegistryRows {
  readonly agents: readonly RegistryRow[]
  readonly next?: string
}

/** An agent in a registry. */
export interface RegistryRow {
  readonly id: string
  readonly kind: 'a2a' | 'mesh'
  readonly name: string
  readonly description?: string
  readonly url: string
  readonly health: 'up' | 'down' | 'unknown'
  /** The last probes, oldest first, at most 100. */
  readonly probes: readonly {
    readonly at: number
    readonly isUp: boolean
    readonly latency?: number
    readonly problem?: string
  }[]
}

/** `GET /mesh`: what all processes of this peer have observed. */
export interface MeshState {
  readonly self: { readonly id: string; readonly url: string; readonly fingerprint?: string }
  readonly peers: readonly MeshPeer[]
  /** The last 100 envelopes, newest first, without payloads. */
  readonly envelopes: readonly MeshEnvelope[]
}

/** A mesh peer that is linked to this one. */
export interface MeshPeer {
  readonly id: string
  readonly url?: string
  readonly state: string
  readonly since?: number
  readonly lastSeen?: number
  /** The process that has the session: sessions belong to one. */
  readonly process?: string
}

/** An envelope that was sent or received. */
export interface MeshEnvelope {
  readonly at: number
  readonly direction: 'in' | 'out'
  readonly peer: string
  readonly type: string
  readonly id: string
  readonly problem?: string
  /** The process that sent or received it. */
  readonly process?: string
}

/** `GET /gateway`: what this process of a gateway has observed since it started. */
export interface GatewayState {
  readonly agents: readonly GatewayRow[]
  /** The catalogs and registries that list agents. `failure`: why the last read failed. */
  readonly sources: readonly { readonly url: string; readonly agents: number; readonly failure?: string | undefined }[]
  /** The last 100 calls that a rule refused, newest first. */
  readonly refusals: readonly GatewayRefusal[]
}

/** An agent behind a gateway. */
export interface GatewayRow {
  readonly name: string
  readonly mode: 'durable' | 'pass-through' | 'local'
  /** The address that callers use. */
  readonly url: string
  readonly state: 'ready' | 'unreachable'
  /** The catalog or registry that lists the agent. */
  readonly source?: string | undefined
  /** Why its card could not be fetched. */
  readonly failure?: string | undefined
  /** What the signature of its card is worth. */
  readonly signature?: string | undefined
  /** How the gateway calls it. */
  readonly endpoint?: { readonly url: string; readonly binding: string; readonly dialect: string } | undefined
  /** `paused`: too many calls failed in a row, so it gets none for a while. */
  readonly addresses: readonly {
    readonly url: string
    readonly state: 'up' | 'down' | 'paused'
    readonly open: number
    readonly failure?: string | undefined
  }[]
  /** Members that translations lost, and how often. */
  readonly losses: readonly {
    readonly member: string
    readonly towards: 'agent' | 'caller'
    readonly dialect: string
    readonly count: number
  }[]
  /** How often each pattern was replaced. */
  readonly redactions: Readonly<Record<string, number>>
  readonly traffic: GatewayTraffic
}

/** The calls of an agent behind a gateway. */
export interface GatewayTraffic {
  readonly calls: number
  /** Calls that ended with an error, without those that a rule refused. */
  readonly failed: number
  readonly refused: number
  /** Calls in each of the last 60 minutes with calls, oldest first. */
  readonly minutes: readonly { readonly at: number; readonly calls: number; readonly failed: number }[]
  /** The 20 callers with the most calls. */
  readonly callers: readonly { readonly id: string; readonly calls: number; readonly failed: number }[]
  /** Messages by the version of their callers. */
  readonly versions: Readonly<Record<string, number>>
  readonly operations: Readonly<Record<string, number>>
  /** Errors by their code, and refused calls by the rule. */
  readonly errors: Readonly<Record<string, number>>
  readonly refusedBy: Readonly<Record<string, number>>
  /** Calls of the gateway to the agent, with their mean duration. */
  readonly upstream: { readonly calls: number; readonly failed: number; readonly meanDuration: number }
}

/** A call that a rule of a gateway refused. */
export interface GatewayRefusal {
  readonly at: number
  readonly agent: string
  readonly principal: string
  readonly operation: string
  readonly rule: string
  readonly code: string
}
