import { type AgentProfile, profileChecks, type Recovery } from '../agent/agent.ts'
import type { KeyRing } from '../auth/key-ring.ts'
import type { Clock } from '../base/clock.ts'
import { defined } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import {
  aFunction,
  anyOf,
  flag,
  group,
  having,
  httpUrl,
  integer,
  listOf,
  loggerCheck,
  milliseconds,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  path,
  text,
} from '../base/options.ts'
import type { DialectName } from '../dialects/versions.ts'
import { type Cors, corsChecks } from '../http/cors.ts'
import type { Load } from '../http/load.ts'
import { checkLimits, type LimitOptions, type LimitsOf, toLimitOptions } from '../limits/limits.ts'
import type { Telemetry } from '../protocol/telemetry.ts'
import { type PushOptions, pushChecks } from '../push/options.ts'
import { type CallsOptions, callsCheck } from '../runtime/calls/options.ts'
import {
  type Retention,
  type RuntimeOptions,
  retentionCheck,
  type TraceOptions,
  traceCheck,
} from '../runtime/options.ts'
import { type AuthChoice, authCheck } from './authentication.ts'
import type { AddressOptions, GrpcAddress } from './card.ts'
import { type DialectOptions, dialectsCheck, toDialectOptions } from './dialect-options.ts'
import type { HttpEndpointOptions } from './http-endpoint.ts'
import type { MetricsOptions } from './metrics-page.ts'

/** Options of a served agent, by subject. `createHandler` takes them; `serve` adds where the server listens. */
export interface HandlerOptions {
  /** Which callers are accepted: `{ schemes }`, or `'none'` for every caller that can reach the handler. Required. */
  readonly auth: AuthChoice
  /** URL at which callers reach the agent. It takes precedence over the address of a request. */
  readonly publicUrl?: string
  /** Trusts `Forwarded` and `X-Forwarded-*`. Set it only behind a proxy that overwrites these headers. */
  readonly trustProxy?: boolean
  /** Path of JSON-RPC. Defaults to `/`; the empty path is the same without the slash in the address on the card. */
  readonly path?: string
  /** The tenant that callers name, where several agents share an address. */
  readonly tenant?: string
  /** How much callers may use. */
  readonly limits?: LimitOptions | LimitsOf
  /** Origins of web pages that may call the agent from a browser, or `true` for all. Defaults to none. */
  readonly cors?: Cors
  /** Keys that sign cards and webhook deliveries. The public keys are served at `/.well-known/jwks.json`. */
  readonly keys?: Pick<KeyRing, 'current' | 'published'>
  /** The log that stores the tasks. Defaults to one in memory. */
  readonly log?: RuntimeOptions['log']
  /** How long ended tasks are kept, by state. */
  readonly retention?: Retention
  /** What happens to turns whose process died. Defaults to the agent's own `recovery`. */
  readonly recovery?: Recovery
  /**
   * Whether parts of a media type that the agent, or the skill that the message names, does not declare are rejected.
   * Defaults to `checked`.
   */
  readonly inputModes?: 'checked' | 'unchecked'
  /**
   * Whether requests are rejected whose `acceptedOutputModes` have nothing that the agent declares to produce. Only if
   * the author declares `outputModes`. Defaults to `checked`.
   */
  readonly outputModes?: 'checked' | 'unchecked'
  /** What the agent offers. The card says it, and calls of other kinds are rejected. */
  readonly capabilities?: CapabilityOptions
  /** Timeouts and queues of turns. */
  readonly turns?: TurnOptions
  /** Limits of HTTP requests and streams. */
  readonly http?: HttpOptions
  /** Protocol versions to serve, or options about them. */
  readonly dialects?: readonly DialectName[] | DialectOptions
  /** Serves gRPC too. */
  readonly grpc?: boolean | GrpcServerOptions
  /** Options of the card. */
  readonly card?: CardOptions
  /** Sends task events to webhooks. Without it, callers cannot register any. */
  readonly push?: PushOptions
  /** How the agent calls other agents. */
  readonly calls?: CallsOptions
  /** What the extended card says beyond the public one. Without it, the agent has no extended card. */
  readonly extendedCard?: Partial<AgentProfile>
  /** Receives log lines. Defaults to `info` and above, on the standard error output; a pino logger fits. */
  readonly logger?: Logger
  /** Observes operations and turns, such as `openTelemetry()` of `parley-a2a/telemetry`. */
  readonly telemetry?: Telemetry | undefined
  /**
   * What the trace of a task records: steps, model requests, tool calls and calls of other agents, stored with the task for
   * its operator. `false` records nothing.
   */
  readonly trace?: TraceOptions | false
  /** Counts calls, turns and deliveries, and serves them at `/metrics` in the Prometheus text format. */
  readonly metrics?: boolean | MetricsOptions
  /** A clock for tests. The log must use the same one. */
  readonly clock?: Clock
}

/** How long turns and tasks may take, and what happens to messages meanwhile. All times are in milliseconds. */
export interface TurnOptions {
  /** Maximum duration of a turn. Defaults to no limit. */
  readonly deadline?: number
  /** Ends a turn that emits no event and completes no step for this long. Defaults to no limit. */
  readonly inactivityTimeout?: number
  /** How long an agent may take to stop after its signal was aborted. */
  readonly cancelGrace?: number
  /** What happens to a message for a task that is working. Defaults to `queue`. */
  readonly whileBusy?: 'queue' | 'reject' | 'interrupt'
  /** How many messages may wait for one task. */
  readonly queueLimit?: number
  /** What happens to a message beyond `queueLimit`: it is refused, or it fails the task. Defaults to `refuse`. */
  readonly whenFull?: 'refuse' | 'fail'
  /**
   * A turn that has neither answered nor touched its task after this time becomes a task. Defaults to 10,000, and to 50
   * if the caller reads a stream. `Infinity` suits agents that always answer with a plain message.
   */
  readonly taskAfter?: number
  /**
   * How long a blocking send waits before it answers with the task as it is. Set it below the timeout of a proxy, such
   * as 55,000. Defaults to no limit.
   */
  readonly blockFor?: number
  /**
   * When the promises of a turn's output resolve: when the event is in a bounded window of events that are being stored
   * (`window`), or when it is stored (`each`). Callers see only stored events in both cases. Defaults to `window`.
   */
  readonly durability?: 'window' | 'each'
  /** How long a silent process keeps the lease of a task. Tasks of a dead process are found after that time. */
  readonly leaseTtl?: number
  /** Name of this process in the leases it holds, for operators who inspect the store. */
  readonly leaseHolder?: string
  /**
   * Logs the messages of errors that the agent throws. They may contain what callers sent. Defaults to false: the log has
   * their type, their code and where they were thrown. `serve` in a terminal, with the default logger, defaults to true.
   */
  readonly errorMessages?: boolean
  /** Keeps the metadata of requests as the metadata of their task, for every reader of it. Defaults to false. */
  readonly keepMetadata?: boolean
  /**
   * Where callers find what the agent returns for a task: in the message of the last status, or as the artifact `answer`.
   * `auto` makes it an artifact unless the turn wrote one, as results of tasks are artifacts. assistant-ui needs `status`.
   * Defaults to `auto`.
   */
  readonly answers?: 'auto' | 'artifact' | 'status'
  /** Also treats two new messages with the same `messageId` as one. Defaults to false: real clients reuse ids. */
  readonly dedupeNewTasks?: boolean
  /**
   * A message with a `contextId` and without a `taskId` answers the open question of that context, if there is one, as
   * some frameworks send answers. Two open questions are an error. Defaults to false: such a message starts a task.
   */
  readonly answersByContext?: boolean
  /**
   * What happens to a message that has the `messageId` of another message of its task, but other content: it is a new
   * message (`accept`), or a conflict (`reject`). Defaults to `accept`. The same content is always the same message.
   */
  readonly reusedMessageId?: 'accept' | 'reject'
  /** The schemes of URLs that callers may send in parts, such as `https`. Defaults to all except those of files and scripts. */
  readonly urlSchemes?: readonly string[]
}

/** The capabilities of an agent that are a choice. Push notifications and the extended card follow from their options. */
export interface CapabilityOptions {
  /** Whether callers may stream and subscribe. Set it to false behind a proxy that buffers responses. Defaults to true. */
  readonly streaming?: boolean
  /**
   * Whether cards before 1.0 say that the history of a task has the messages of its earlier statuses. It always has
   * them. Without this option, the cards say nothing.
   */
  readonly stateTransitionHistory?: boolean
}

/** The `http` option of a server: limits of requests and streams. */
export interface HttpOptions {
  /** Maximum size of a request body in bytes. Defaults to 10 MiB. */
  readonly bodyLimit?: number
  /** Maximum nesting of JSON. Defaults to 64. */
  readonly jsonDepth?: number
  /** Milliseconds of silence after which a stream sends a heartbeat. Defaults to 15,000. */
  readonly heartbeat?: number
  /**
   * Host names for which requests are answered, besides names of this machine and those in `publicUrl` and `hostname`, or
   * `any`. Requests for other hosts, and from web pages of origins that `cors` does not allow, get 403. Defaults to `any`,
   * or to no other names if the server listens on loopback and accepts callers without credentials: it must not answer
   * web pages whose name resolves to this machine (DNS rebinding).
   */
  readonly hosts?: readonly string[] | 'any'
}

/** The `grpc` option of a server. */
export interface GrpcServerOptions {
  /** How cards name the address of gRPC: as host and port (`bare`), which gRPC clients need, or as a `url`. Defaults to `bare`. */
  readonly address?: GrpcAddress
  /**
   * Whether the card names gRPC. Defaults to true. Google ADK rejects cards that do; for it, `/.well-known/agent-card-http.json`
   * is the card without gRPC.
   */
  readonly onCard?: boolean
}

/** The `card` option of a server. */
export interface CardOptions {
  /** Sends the card only to callers with credentials. Defaults to false: the card says which credentials are needed. */
  readonly auth?: boolean
}

const urlScheme: OptionCheck = (value, name) => {
  text(value, name)
  if (/^[a-z][a-z0-9+.-]*$/.test(`${value}`)) return
  throw new TypeError(`${name}: expected a scheme in lower case, such as https, got ${JSON.stringify(value)}.`)
}

const turnChecks: OptionChecks<TurnOptions> = {
  deadline: milliseconds({ min: 1 }),
  inactivityTimeout: milliseconds({ min: 1 }),
  cancelGrace: milliseconds(),
  whileBusy: oneOf('queue', 'reject', 'interrupt'),
  queueLimit: integer(),
  whenFull: oneOf('refuse', 'fail'),
  taskAfter: milliseconds(),
  blockFor: milliseconds(),
  durability: oneOf('window', 'each'),
  leaseTtl: milliseconds({ min: 1, infinite: false }),
  leaseHolder: text,
  errorMessages: flag,
  dedupeNewTasks: flag,
  answersByContext: flag,
  keepMetadata: flag,
  answers: oneOf('auto', 'artifact', 'status'),
  reusedMessageId: oneOf('accept', 'reject'),
  urlSchemes: listOf(urlScheme),
}

const hostName: OptionCheck = (value, name) => {
  text(value, name)
  if (/[:/\s]/.test(`${value}`)) throw new TypeError(`${name}: expected a host name, got ${JSON.stringify(value)}.`)
}

export const httpChecks: OptionChecks<HttpOptions> = {
  bodyLimit: integer({ min: 1 }),
  jsonDepth: integer({ min: 1 }),
  heartbeat: milliseconds({ min: 1 }),
  hosts: anyOf("'any', or a list of host names without scheme and port", oneOf('any'), listOf(hostName)),
}

/** The empty path is the root. */
export const emptyOrPath: OptionCheck = (value, name) => {
  if (value !== '') path(value, name)
}

export const handlerChecks: OptionChecks<HandlerOptions> = {
  auth: authCheck,
  publicUrl: httpUrl,
  trustProxy: flag,
  path: emptyOrPath,
  tenant: text,
  limits: checkLimits,
  cors: anyOf('true, an origin, a list of origins or an object', flag, text, listOf(text), group(corsChecks)),
  keys: having('a key ring such as createKeyRing()', 'current', 'published'),
  log: having('a task log such as createMemoryLog() or createSqliteLog()', 'append', 'head', 'read'),
  retention: retentionCheck,
  recovery: profileChecks.recovery,
  inputModes: oneOf('checked', 'unchecked'),
  outputModes: oneOf('checked', 'unchecked'),
  capabilities: group<CapabilityOptions>({ streaming: flag, stateTransitionHistory: flag }),
  turns: group(turnChecks),
  http: group(httpChecks),
  dialects: dialectsCheck,
  grpc: anyOf(
    'true, false or { address, onCard }',
    flag,
    group<GrpcServerOptions>({ address: oneOf('bare', 'url'), onCard: flag }),
  ),
  card: group<CardOptions>({ auth: flag }),
  push: group(pushChecks),
  calls: callsCheck,
  extendedCard: group(profileChecks),
  logger: loggerCheck,
  telemetry: having('telemetry such as openTelemetry()', 'begin'),
  trace: traceCheck,
  metrics: anyOf('true, false or { allow }', flag, group<MetricsOptions>({ allow: aFunction })),
  clock: having('a clock such as createVirtualClock()', 'now'),
}

/** The flat options that the runtime and the HTTP endpoint read. Their groups exist for readers of the API. */
export function flattenOptions(options: HandlerOptions): HostedAgentOptions {
  const { turns = {}, http = {}, dialects, grpc, card, limits, ...rest } = options
  const { deadline, leaseHolder, ...otherTurns } = turns
  const { speak, house = {}, compatibility, ...otherDialects } = toDialectOptions(dialects)
  const { path: housePath, codes, ...otherHouse } = house
  return defined({
    ...rest,
    grpc: grpc !== undefined && grpc !== false,
    grpcAddress: typeof grpc === 'object' ? grpc.address : undefined,
    grpcOnCard: typeof grpc === 'object' ? grpc.onCard : undefined,
    cardAuth: card?.auth,
    limits: limits && toLimitOptions(limits),
    ...otherTurns,
    turnDeadline: deadline,
    holder: leaseHolder,
    ...http,
    ...otherDialects,
    dialects: speak,
    ...otherHouse,
    housePath,
    houseCodes: codes,
    ...compatibility,
  })
}

/** The options of one agent of a server: its own take precedence, group by group. */
export function mergeOptions<T extends Partial<HandlerOptions>>(shared: T, own: Partial<HandlerOptions>): T {
  return {
    ...shared,
    ...defined(own),
    capabilities: { ...shared.capabilities, ...own.capabilities },
    turns: { ...shared.turns, ...own.turns },
    http: { ...shared.http, ...own.http },
    dialects: { ...toDialectOptions(shared.dialects), ...toDialectOptions(own.dialects) },
  }
}

/** The options of a hosted agent, flat: `HandlerOptions` with their groups resolved, and what the host adds. */
export interface HostedAgentOptions
  extends Partial<
      Omit<RuntimeOptions, 'agent' | 'policy' | 'acquireSlot' | 'chargeUsage' | 'checkContinuation' | 'delegation'>
    >,
    HttpEndpointOptions,
    AddressOptions,
    Pick<HttpOptions, 'hosts'>,
    Pick<HandlerOptions, 'auth' | 'metrics' | 'extendedCard' | 'capabilities'> {
  readonly limits?: LimitOptions | undefined
  /** Load of the server: while it is too high, calls are rejected. */
  readonly load?: Load | undefined
  /** The host name for which the agent is served. */
  readonly hostname?: string | undefined
  /** Whether the server listens on a loopback address. */
  readonly isOnLoopback?: boolean | undefined
}
