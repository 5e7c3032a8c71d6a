import type { JsonObject } from '../core/base/json.ts'
import type { Logger } from '../core/base/logger.ts'
import {
  aFunction,
  anObject,
  flag,
  having,
  integer,
  loggerCheck,
  milliseconds,
  type OptionChecks,
  recordOf,
} from '../core/base/options.ts'
import type { Trace } from '../core/base/trace-context.ts'
import type { Telemetry } from '../core/protocol/telemetry.ts'
import type { EnvelopeRules, MeshAgentAnnouncement, MeshCard, MeshDiscoverAgents, MeshEnvelope } from './envelope.ts'
import type { StandardCode } from './errors.ts'
import type { FirstHandshakeKeys, MeshKeySource } from './key-sources.ts'
import type { MeshSigningKey } from './keys.ts'
import type { RateLimit } from './rate-limit.ts'
import type { ReplayCache } from './replay-cache.ts'
import type { MeshIdentity } from './signature.ts'

/** A message that passed all checks, with its sender. */
export interface MeshCall {
  readonly envelope: MeshEnvelope
  /** The `sender_id`. Only `identity` proves it. */
  readonly from: string
  /** Absent if the message was not signed, which only `requireAuth: false` allows. */
  readonly identity: MeshIdentity | undefined
  /**
   * Aborts when the time is up, but not when the caller disconnects: it may send the same message again and then gets
   * its answer.
   */
  readonly signal: AbortSignal
  /** The trace that the caller sent beside the envelope. It is not signed. */
  readonly trace: Trace | undefined
}

/** Throws a `MeshRefusal` to reject a request: only its code, message and details reach the caller. */
export type MeshMethod = (parameters: JsonObject, call: MeshCall) => Promise<JsonObject> | JsonObject

/** The part of a registry that answers discovery, under the agent id `registry`. */
export interface MeshDirectory {
  discover(
    query: MeshDiscoverAgents['payload'],
    call: MeshCall,
  ): Promise<MeshAgentAnnouncement['payload']> | MeshAgentAnnouncement['payload']
}

/** Options of `createMeshPeer`. */
export interface MeshPeerOptions extends Pick<EnvelopeRules, 'lenientIds'> {
  /** Describes this peer. Its `agent_id` is the address of the peer in the mesh. */
  readonly card: MeshCard
  /** Signs outgoing messages. */
  readonly key?: MeshSigningKey
  /** The keys of other agents. */
  readonly keys?: MeshKeySource
  /** Trusts the key that an agent presents in its first handshake. */
  readonly firstHandshake?: FirstHandshakeKeys
  /** Rejects unsigned messages. Defaults to true. */
  readonly requireAuth?: boolean
  /** Rejects requests of agents without a handshake. Defaults to false. */
  readonly requireHandshake?: boolean
  readonly methods?: Readonly<Record<string, MeshMethod>>
  /** Whether the caller may send this message (`FORBIDDEN`). */
  readonly authorize?: (call: MeshCall) => Promise<boolean> | boolean
  /** Whether the caller may call this existing method (`METHOD_NOT_ALLOWED`). */
  readonly allows?: (method: string, call: MeshCall) => Promise<boolean> | boolean
  /** Returns the reason to reject a handshake, or undefined to accept it. */
  readonly refuseHandshake?: (card: MeshCard, call: MeshCall) => Promise<string | undefined> | string | undefined
  /** Called with every message that passed all checks, before it is answered. */
  readonly onMessage?: (call: MeshCall) => Promise<void> | void
  readonly directory?: MeshDirectory
  /** Defaults to 1000 messages per second and peer. */
  readonly rateLimit?: RateLimit
  readonly replayCache?: ReplayCache
  /** Maximum size of an envelope. Defaults to 10 MiB. */
  readonly maxBytes?: number
  /** Time limit of a method in milliseconds. Defaults to 30,000. */
  readonly timeout?: number
  /** Messages that are handled concurrently. Defaults to 1024. */
  readonly maxInFlight?: number
  /** The URL that explains an error code. */
  readonly documentationUrl?: (code: StandardCode) => string | undefined
  readonly logger?: Logger
  /** Logs the messages of errors that a method throws. They may contain what peers sent. Defaults to false. */
  readonly errorMessages?: boolean
  /** Observes method calls, incoming and outgoing. */
  readonly telemetry?: Telemetry
  /** For tests. */
  readonly now?: () => number
}

/** The card is read by its own schema. */
export const meshPeerChecks: OptionChecks<Omit<MeshPeerOptions, 'card' | 'directory'>> = {
  lenientIds: flag,
  key: having('a key such as await generateSigningKey()', 'jwk'),
  keys: anObject,
  firstHandshake: anObject,
  requireAuth: flag,
  requireHandshake: flag,
  methods: recordOf(aFunction),
  authorize: aFunction,
  allows: aFunction,
  refuseHandshake: aFunction,
  onMessage: aFunction,
  rateLimit: anObject,
  replayCache: anObject,
  maxBytes: integer({ min: 1 }),
  timeout: milliseconds({ min: 1 }),
  maxInFlight: integer({ min: 1 }),
  documentationUrl: aFunction,
  logger: loggerCheck,
  errorMessages: flag,
  telemetry: having('telemetry such as openTelemetry()', 'begin'),
  now: aFunction,
}
