import type { Json, JsonObject } from '../core/base/json.ts'
import type { LogLevel } from '../core/base/logger.ts'
import type { TaskForm } from '../core/dialects/versions.ts'
import type { TaskEvent } from '../core/protocol/events.ts'
import type { UsageSum } from '../core/protocol/extensions/usage.ts'
import type { Part, Task } from '../core/protocol/model.ts'
import type { Phase } from '../core/protocol/states.ts'

/**
 * The operator API: what the console and `parley` request from a running server. JSON over HTTP below `/console/api/v1`.
 * All times are in milliseconds since 1970, all durations in milliseconds. Members may be added within a version.
 */
export const operatorApiVersion = 'v1'

/** `viewer` may read everything, `operator` may also cancel, answer, redeliver and send. */
export type OperatorRole = 'viewer' | 'operator'

/** A way to log in, from the schemes that `console.auth` declares. */
export interface LoginScheme {
  readonly name: string
  /** Which fields the form has: one secret, a user name with a password, or nothing (a client certificate). */
  readonly fields: 'secret' | 'password' | 'none'
  readonly description?: string
}

/** `GET /session`. Without a session it answers 401 with an `ErrorBody` whose `schemes` say how to log in. */
export interface Session {
  readonly role: OperatorRole
  /** Undefined on a server that needs no login. */
  readonly principal?: { readonly id: string; readonly tenant?: string }
  /** When the session ends. Undefined if it does not. */
  readonly expires?: number
  readonly server: ServerInfo
}

/** The server, and what its console can show. */
export interface ServerInfo {
  /** The version of Parley. */
  readonly version: string
  readonly started: number
  /** What the console can show. A relay to foreign agents has no durable data. */
  readonly features: readonly Feature[]
}

/**
 * `history`: tasks with their events. `overview`, `webhooks`, `registry`, `mesh`, `gateway`: pages with that name. `receiver`: the
 * built-in webhook receiver. `doctor`, `conformance`, `grpc`: checks and the gRPC relay of the wire page. `connect`: the
 * operator may connect to agents of other servers.
 */
export type Feature =
  | 'history'
  | 'overview'
  | 'webhooks'
  | 'receiver'
  | 'registry'
  | 'mesh'
  | 'gateway'
  | 'doctor'
  | 'conformance'
  | 'grpc'
  | 'connect'

/** `POST /session`. `secret` is a token, a key or a password. */
export interface Login {
  readonly scheme: string
  readonly user?: string
  readonly secret?: string
}

/** Every error of the API. */
export interface ErrorBody {
  readonly error: {
    readonly code: string
    readonly message: string
    /** For `unauthenticated`: how to log in. */
    readonly schemes?: readonly LoginScheme[]
  }
}

/** `GET /agents`. */
export interface AgentList {
  readonly agents: readonly AgentSummary[]
}

/** An agent of the server. */
export interface AgentSummary {
  /** Names the agent in paths of this API. Stable while the agent stays mounted at its address. */
  readonly id: string
  readonly name: string
  readonly description: string
  /** The address that callers use. */
  readonly url: string
  /**
   * Path of the agent for the browser: A2A in every dialect over JSON-RPC and REST, called as the principal of the session.
   * `connect()` takes it as a target.
   */
  readonly a2a: string
  readonly skills: readonly { readonly id: string; readonly name: string }[]
  /** The version of the agent itself, as its card names it. */
  readonly version?: string
  /** The versions of A2A that it speaks. Not known of an agent of another server. */
  readonly protocolVersions?: readonly string[]
  /** Empty for an agent of another server: its limits are not known. */
  readonly limits: readonly { readonly name: string; readonly value: string }[]
  /** Set for an agent of another server, which `parley console` calls: only what its card and its answers say is known. */
  readonly foreign?: ForeignSummary
}

/** What is known of an agent of another server. */
export interface ForeignSummary {
  /** How the operator named it, to connect to it again. */
  readonly reference: string
  /** The interfaces that its card names, in the order of the card. */
  readonly interfaces: readonly { readonly binding: string; readonly version: string; readonly url: string }[]
  /** The security schemes of its card. */
  readonly schemes: readonly ForeignScheme[]
}

/** A way to authenticate to an agent of another server. */
export interface ForeignScheme {
  readonly name: string
  /** Which credentials it needs. `other`: the console has no form for it. */
  readonly type: 'bearer' | 'api-key' | 'basic' | 'oauth' | 'other'
  readonly description?: string
  /** For `oauth`: the server that gets the credentials. */
  readonly server?: string
}

/**
 * `GET /agents/{agent}/cards`: the card in each version, and what its signature is worth. Of an agent of another server, the
 * only card is the one that it sent.
 */
export interface AgentCards {
  /** Violations of the schema of its version, for the card of an agent of another server. */
  readonly violations?: readonly string[]
  readonly cards: readonly { readonly version: string; readonly card: JsonObject }[]
  readonly signature: {
    readonly state: 'verified' | 'unsigned' | 'invalid' | 'unknown-key'
    readonly reason?: string
  }
}

/** Names a task by its agent and its id. */
export interface TaskKey {
  readonly agent: string
  readonly taskId: string
}

/** The query of `GET /tasks`. Newest status first. */
export interface TaskQuery {
  readonly agent?: string
  /** One or several states, separated by commas; `stuck` selects tasks that work without a live lease. */
  readonly state?: string
  readonly principal?: string
  readonly tenant?: string
  readonly skill?: string
  readonly contextId?: string
  /** A part of a task id, a context id, a principal or a skill, or of the text of the first message, in upper or lower case. */
  readonly search?: string
  /** Tasks whose status changed at this time or later. */
  readonly since?: number
  /** Tasks whose status changed before this time. */
  readonly until?: number
  readonly cursor?: string
  /** Defaults to 50, at most 200. */
  readonly limit?: number
}

/** A task in a list. */
export interface TaskRow extends TaskKey {
  readonly contextId: string
  readonly phase: Phase | 'expired'
  /** `isOperator`: an operator began the task in the chat of the console. */
  readonly principal: { readonly id: string; readonly tenant?: string; readonly isOperator?: true }
  /** The skill that its first message names. */
  readonly skill?: string
  readonly dialect?: string
  /** 0 if the server of the agent does not say it. */
  readonly created: number
  /** 0 if the server of the agent does not say it. */
  readonly changed: number
  /** The number of its events, and its current generation. */
  readonly events: number
  /** The first line of the message that began it, at most 200 characters. */
  readonly request?: string
  /** The first line of the status message, at most 200 characters. */
  readonly summary?: string
  /** The process that works on it, and until when. */
  readonly lease?: { readonly holder: string; readonly expires: number }
}

/** A page of tasks. */
export interface TaskRows {
  readonly tasks: readonly TaskRow[]
  /** The `cursor` of the next page. Undefined on the last one. */
  readonly next?: string
  /** How many tasks match, counted up to 10,000. */
  readonly total: number
  /** Agents whose tasks are not all listed or counted, such as agents of other servers, and why. */
  readonly incomplete?: readonly { readonly agent: string; readonly reason: string }[]
}

/** An event of `GET /tasks/changes`, a stream of server-sent events with the same query as `GET /tasks`. */
export type TaskChange =
  | { readonly type: 'task'; readonly task: TaskRow }
  /** Tasks were removed: read the list again. */
  | { readonly type: 'reset' }

/** `POST /tasks/cancel`, with at most 200 tasks. */
export interface CancelTasks {
  readonly tasks: readonly TaskKey[]
}

/** What became of each task that was to be canceled. */
export interface CancelResults {
  readonly results: readonly (TaskKey & { readonly phase?: Phase; readonly error?: string })[]
}

/** `GET /tasks/{agent}/{taskId}`. */
export interface TaskDetail extends TaskRow {
  /** Artifacts and history are shortened to `shortenedTo` bytes; the events have them in full. */
  readonly task: Task
  readonly isShortened: boolean
  readonly metadata?: JsonObject
  /** Each phase with the time at which it began. At most 1,000, the newest. */
  readonly phases: readonly { readonly phase: Phase; readonly at: number }[]
  /** Steps of durable turns, by attempt. */
  readonly steps: readonly JournalStep[]
  readonly waiting?: Waiting
  /** The task of the same agent that an operator has run again by this one. */
  readonly rerunOf?: string
  readonly traceId?: string
  readonly recovery: 'fail' | 'retry' | 'resume'
}

/** A step in the journal of a durable turn. */
export interface JournalStep {
  readonly attempt: number
  readonly step: string
  readonly call: number
  readonly generation: number
  readonly at?: number
  readonly result?: Json
  readonly failure?: { readonly message: string; readonly code?: string }
}

/** What a task waits for. */
export interface Waiting {
  readonly kind: 'input' | 'approval' | 'tool' | 'credentials'
  readonly since: number
  /** When the task stops waiting. Undefined if it waits forever. */
  readonly deadline?: number
  /** The question as text. */
  readonly text: string
  /** Set if the answer is a secret, which is neither stored nor logged. */
  readonly sensitive?: boolean
  /** Identifies the question, and is sent back with the answer. */
  readonly requestId?: string
  /** JSON Schema of the answer; for `tool`, of its result. */
  readonly schema?: JsonObject
  /** For `tool`: the call that the caller's tool has to execute. For `approval`: the call to decide about. */
  readonly tool?: { readonly name: string; readonly arguments: Json }
  /** For `credentials`: the schemes that the agent names, and where to obtain the credentials. Both may be empty. */
  readonly credentials?: { readonly schemes: readonly string[]; readonly urls: readonly string[] }
}

/**
 * The query of `GET /tasks/{agent}/{taskId}/events`. Oldest first; with `before` alone, the events before it, oldest first.
 * With `type`, `text`, `group` or `order`, a page may have fewer events than match: continue with its `next` as `after`, or
 * as `before` if the newest come first.
 */
export interface EventQuery {
  readonly after?: number
  readonly before?: number
  /** Defaults to 200, at most 1,000. */
  readonly limit?: number
  /** One or several types, separated by commas. */
  readonly type?: string
  /** A part of what the events say, in upper or lower case. */
  readonly text?: string
  /** `chunks`: consecutive chunks of an artifact are one row. */
  readonly group?: 'chunks'
  readonly order?: 'newest'
}

/** `GET /tasks/{agent}/{taskId}/events`. */
export interface EventPage {
  readonly events: readonly EventRow[]
  /** The generation of the last event of the task. */
  readonly generation: number
  /** Where the next page begins, if the query has a filter, a group or an order. Undefined on the last page. */
  readonly next?: number
}

/** A stored event of a task. */
export interface EventRow {
  readonly generation: number
  /** When it was stored. Undefined for events that were stored before times were. */
  readonly at?: number
  /** Size of the stored event in bytes. */
  readonly bytes: number
  readonly type: TaskEvent['type']
  /** The source of the event: the caller, the agent, or the server itself. */
  readonly by: 'caller' | 'agent' | 'server'
  /** Undefined if it is longer than 64 KiB: `GET …/events/{generation}` returns it in full. */
  readonly event?: TaskEvent
  /** Set if the row stands for several chunks of an artifact, and `event` is the first of them. */
  readonly chunks?: EventChunks
}

/** Consecutive chunks of an artifact. */
export interface EventChunks {
  /** The generation of the last chunk. */
  readonly last: number
  readonly count: number
  /** When the last chunk was stored. */
  readonly until?: number
  /** The beginning of their text, at most 300 characters. */
  readonly text: string
}

/** `POST /tasks/{agent}/{taskId}/rerun`: sends the first message of a task again, as the operator. */
export interface Rerun {
  /** What is sent in place of the original message. */
  readonly parts?: readonly Part[]
}

/** The dialects of `GET /tasks/{agent}/{taskId}/as/{dialect}`. */
export type SeenAsDialect = TaskForm

/** A task in the JSON of a version. */
export interface SeenAs {
  readonly dialect: SeenAsDialect
  readonly json: JsonObject
  /** What the version cannot express: the path in the task of the model, and why. */
  readonly lost: readonly { readonly path: string; readonly reason: string }[]
}

/** `GET /tasks/{agent}/{taskId}/calls`: the calls of a task to other agents. */
export interface CallNode {
  readonly agent: string
  /** Set if the called agent is served here, so that the console can link to the task. */
  readonly task?: TaskKey
  readonly remoteTaskId?: string
  readonly state: 'running' | 'waiting' | 'completed' | 'failed'
  readonly started: number
  readonly ended?: number
  readonly failure?: string
  readonly calls: readonly CallNode[]
}

/** The calls to other agents that a task made. */
export interface CallTree {
  readonly calls: readonly CallNode[]
}

/**
 * `GET /tasks/{agent}/{taskId}/trace`: what a task did, as rows of a waterfall. Each turn is followed by the work in it,
 * in the order of its beginning; deliveries to webhooks come last.
 */
export interface TaskTrace {
  readonly rows: readonly TraceRow[]
  /** The task has so many events that those in the middle were not read. */
  readonly isPartial?: true
  /** The trace has as many entries as the server records of a task. */
  readonly isLimited?: true
  /** What the models used, as the last status of the task has it. */
  readonly usage?: UsageSum
}

/** A piece of work in the trace of a task. */
export interface TraceRow {
  readonly type: 'turn' | 'question' | 'step' | 'model' | 'tool' | 'call' | 'webhook' | 'limit'
  readonly name: string
  /** 0 for a turn, 1 for work in it, and more for calls that called agents made. */
  readonly depth: number
  /** `interrupted`: the process ended or shut down, and another one continued the turn. */
  readonly state: 'running' | 'waiting' | 'completed' | 'failed' | 'canceled' | 'interrupted'
  readonly started: number
  /** Undefined if it has not ended. */
  readonly ended?: number
  /** Of a turn, a model request or a delivery: the number of the last attempt. */
  readonly attempt?: number
  readonly inputTokens?: number
  readonly outputTokens?: number
  /** Why the model stopped. */
  readonly finish?: string
  /** Arguments and result as text, shortened. Undefined if the server does not record them. */
  readonly input?: string
  readonly output?: string
  readonly failure?: string
  /** Of a tool: the id that the model gave the call. */
  readonly callId?: string
  /** Of a call: the task of the called agent, if it is served here, and its id. */
  readonly task?: TaskKey
  readonly remoteTaskId?: string
  /** Where the tracing system shows it. */
  readonly url?: string
}

/** `GET /tasks/{agent}/{taskId}/log`: recent log lines of all processes, oldest first, at most 500 of a task. */
export interface TaskLogLines {
  readonly lines: readonly LogLine[]
}

/** A log line about a task. Each process stores up to 100 lines per second; the others are shown by this process only. */
export interface LogLine {
  readonly at: number
  readonly level: LogLevel
  readonly message: string
  readonly fields: JsonObject
  /** The process that wrote it. */
  readonly process: string
}

/** The query of `GET /inbox`. */
export interface InboxQuery {
  readonly agent?: string
  readonly kind?: Waiting['kind']
  /** As in the list of tasks. */
  readonly search?: string
  readonly cursor?: string
}

/** An event of `GET /inbox/changes`: how many tasks wait for a person, at first and after every change. */
export interface InboxChange {
  /** Counted up to 200. */
  readonly count: number
  /** The tasks that wait since the last event. At first, none. */
  readonly added: readonly TaskRow[]
}

/** `GET /inbox`: everything that waits for a person. */
export interface Inbox {
  readonly items: readonly (TaskRow & { readonly waiting: Waiting })[]
  readonly next?: string
}

/** `POST /tasks/{agent}/{taskId}/answer`. The operator answers in the place of the caller. */
export interface Answer {
  readonly requestId?: string
  /** An answer in free form, */
  readonly parts?: readonly Part[]
  /** a value for the schema of the question, */
  readonly value?: Json
  /** a decision about an approval, */
  readonly decision?: 'approve' | 'decline'
  /** or the credentials that the task waits for. They reach the agent, and are neither stored nor logged. */
  readonly credentials?: { readonly scheme?: string; readonly secret: string }
  readonly comment?: string
}
