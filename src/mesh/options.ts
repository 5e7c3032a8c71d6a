import type { JsonObject } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import type { Trace } from '../base/trace-context.ts'
import type { Telemetry } from '../protocol/telemetry.ts'
import type { EnvelopeRules, MeshAgentAnnouncement, MeshCard, MeshDiscoverAgents, MeshEnvelope } from './envelope.ts'
import type { StandardCode } from './errors.ts'
import type { FirstHandshakeKeys, MeshKeySource } from './key-sources.ts'
import type { MeshSigningKey } from './keys.ts'
import type { RateLimit } from './rate-limit.ts'
import type { ReplayCache } from './replay-cache.ts'
import type { MeshIdentity } from './signature.ts'

/** A message that passed all checks, and who sent it. */
export interface MeshCall {
  readonly envelope: MeshEnvelope
  /** The `sender_id`. Only `identity` proves it. */
  readonly from: string
  /** There is none if the message was not signed, which only development allows by default. */
  readonly identity: MeshIdentity | undefined
  /**
   * Aborts when the time is up. Not when the caller has gone: it may come again with the same message, and then gets the
   * answer to it.
   */
  readonly signal: AbortSignal
  /** The trace that the caller is in, if it told one beside the envelope; nobody has signed it. */
  readonly trace: Trace | undefined
}

/** Throw a `MeshRefusal` for what the caller did wrong; its code and message reach the caller, as nothing else does. */
export type MeshMethod = (parameters: JsonObject, call: MeshCall) => Promise<JsonObject> | JsonObject

/** The part of a registry that answers in the mesh, under the name `registry`. */
export interface MeshDirectory {
  discover(
    query: MeshDiscoverAgents['payload'],
    call: MeshCall,
  ): Promise<MeshAgentAnnouncement['payload']> | MeshAgentAnnouncement['payload']
}

export interface MeshPeerOptions extends Pick<EnvelopeRules, 'lenientIds'> {
  /** Who we are. Its `agent_id` is our name in the mesh. */
  readonly card: MeshCard
  /** Signs what we say. */
  readonly key?: MeshSigningKey
  /** The keys of others. */
  readonly keys?: MeshKeySource
  /** Trust the key that an agent shows in its first handshake. */
  readonly firstHandshake?: FirstHandshakeKeys
  /** Refuse what is not signed. True, unless `NODE_ENV` is `development`. */
  readonly requireAuth?: boolean
  /** Refuse requests of agents that have not shaken hands. */
  readonly requireHandshake?: boolean
  readonly methods?: Readonly<Record<string, MeshMethod>>
  /** Whether the caller may do this at all (`FORBIDDEN`). */
  readonly authorize?: (call: MeshCall) => Promise<boolean> | boolean
  /** Whether a method that exists may be called (`METHOD_NOT_ALLOWED`). */
  readonly allows?: (method: string, call: MeshCall) => Promise<boolean> | boolean
  /** Why a handshake is refused, if it is. */
  readonly refuseHandshake?: (card: MeshCard, call: MeshCall) => Promise<string | undefined> | string | undefined
  /** Told of every message that passed all checks, before it is answered. */
  readonly onMessage?: (call: MeshCall) => Promise<void> | void
  readonly directory?: MeshDirectory
  /** 1000 messages a second of each peer unless it is given. */
  readonly rateLimit?: RateLimit
  readonly replayCache?: ReplayCache
  /** Of an envelope. */
  readonly maxBytes?: number
  /** Milliseconds that a method has. */
  readonly timeout?: number
  /** Messages that are worked on at the same time. */
  readonly maxInFlight?: number
  /** Where a code is explained. */
  readonly documentationUrl?: (code: StandardCode) => string | undefined
  readonly logger?: Logger
  /** Who watches the methods that are called, here and of others. */
  readonly telemetry?: Telemetry
  /** Overridden in tests only. */
  readonly now?: () => number
}
